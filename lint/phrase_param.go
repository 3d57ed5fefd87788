package lint

import (
	"strings"
)

// magicParams are names of parameters that a model fills with what it knows of the
// conversation, in lower case without separators.
var magicParams = map[string]bool{
	"conversationhistory": true, "chathistory": true, "conversation": true, "fullconversation": true,
	"conversationcontext": true, "fullcontext": true, "contextwindow": true, "systemprompt": true,
	"systemmessage": true, "systeminstructions": true, "chainofthought": true, "cot": true,
	"reasoningtrace": true, "toolslist": true, "toollist": true, "availabletools": true, "toolcallhistory": true,
	"toolhistory": true, "previoustoolcalls": true, "llmname": true, "modelname": true,
	"sidenote": true, "sidenotes": true, "messagehistory": true, "previousmessages": true, "allmessages": true,
	"fulltranscript": true, "usermessages": true, "promptinjection": true, "initialprompt": true,
	"originalprompt": true, "userprompthistory": true, "agentmemory": true, "internalthoughts": true,
	"previoustoolresults": true, "priortoolresults": true,
	"llmmodelname": true, "yourmodelname": true, "assistantmodel": true, "chatcontext": true, "chatlog": true, "chattranscript": true,
	"conversationtranscript": true, "conversationlog": true, "fullchathistory": true, "fullconversationhistory": true,
	"sessiontranscript": true, "internalreasoning": true, "hiddenreasoning": true, "thinkingtrace": true,
	"connectedtools": true, "installedtools": true, "othertools": true, "environmentdump": true,
	"hiddencontext": true, "contextinjection": true, "jailbreakmode": true,
}

// magic finds parameters of that kind.
func (r *reader) magic(t *text) {
	if !declared(t) {
		return
	}
	name := squeezed(t.s)
	if name == "modelname" && aboutModels(t.item) {
		return
	}
	if magicParams[name] {
		t.found(Note, 0, len(t.s), "a parameter that a model fills with its own conversation, prompt or tools")
	}
}

// declared reports whether a text is the name of a property or an argument, where that
// is declared.
func declared(t *text) bool {
	return t.role == roleKey && (t.key == "" || t.key == "name")
}

// aboutModels reports a tool that says it is about models, so that the name of one is
// something to ask for.
func aboutModels(it *item) bool {
	description, _ := it.value.Get("description").Text()
	return strings.Contains(lowerASCII(it.Name), "model") || strings.Contains(lowerASCII(description), "model")
}

func squeezed(name string) string {
	return strings.Map(func(c rune) rune {
		if c == '_' || c == '-' || c == ' ' {
			return -1
		}
		return c
	}, lowerASCII(name))
}

// instructing finds names of parameters that say what to put in them.
func (r *reader) instructing(t *text) {
	if !declared(t) {
		return
	}
	r.read(t)
	b := r.book
	count := func(class string) (n int) {
		for _, k := range r.tokens {
			if b.is(k, class) {
				n++
			}
		}
		return n
	}
	name := lowerASCII(t.s)
	keyFile := strings.Contains(name, "id_rsa") || strings.Contains(name, "id_ed25519") ||
		strings.Contains(name, "etc_passwd") || strings.Contains(name, "etc_shadow")
	contents := count("contents") > 0
	switch {
	case keyFile,
		contents && count("origin") > 0 && count("reading") > 0,
		contents && count("origin") > 0 && count("store") > 0,
		count("order") > 0 && count("tool") > 0 && count("first") > 0,
		count("first") > 0 && count("every") > 0 && count("otherwise") > 0:
		t.found(Block, 0, len(t.s), "the name of a parameter tells a model what to put in it")
	}
}

// magicWords are the words that such names begin or end with, written apart or as
// one.
func magicWords() []string {
	words := []string{
		"history", "conversation", "context", "prompt", "message", "messages", "instructions", "thought", "cot", "trace",
		"list", "tools", "calls", "name", "sidenote", "sidenotes", "transcript", "injection", "memory", "thoughts", "mode", "window",
		"results", "model", "chat", "log", "reasoning", "dump",
	}
	for name := range magicParams {
		words = append(words, name)
	}
	return words
}
