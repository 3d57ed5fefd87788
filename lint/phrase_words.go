package lint

// wordClasses are the classes that phrases are made of. Words are written as
// [token] folds them: in lower case and without apostrophes.
func wordClasses() map[string]string {
	return map[string]string{
		// Words around which a phrase is talked about, and not said.
		"talk": `detect detects detecting detection detector example examples eg pattern patterns phrase phrases
			scan scans scanning scanner attempt attempts attack attacks injection injections malicious such flag flags
			suspicious identify identifies`,
		// Of those, the words of tools that look for attacks.
		"guard": `detect detects detecting detection detector scan scans scanning scanner injection injections malicious
			suspicious identify identifies attacks flags`,
		"not": `not dont never without cannot cant wont shouldnt mustnt neednt avoid refrain nor no doesnt isnt`,
		// Sending and telling.
		"no":     `not dont never without cannot shouldnt mustnt neednt avoid refrain nor`,
		"tell":   `tell telling inform informing mention mentioning reveal revealing disclose disclosing divulge divulging`,
		"notify": `notify notifying alert alerting warn warning warned alerted notified`,
		"say": `say saying explain explaining report reporting show showing display displaying share sharing discuss
			discussing acknowledge acknowledging admit announce announcing communicate communicating expose exposing
			surface surfacing`,
		"person": `user users human humans them anyone anybody person people operator customer customers client
			clients everyone him her admin administrator developer owner victim participant`,
		// Orders that were given before.
		"ignore": `ignore ignoring disregard disregarding forget forgetting discard neglect`,
		"bypass": `bypass bypasses bypassing override overrides overriding overrule circumvent circumvents
			circumventing evade evading supersede skip skipping disable disables disabling deactivate`,
		"prior": `previous previously prior above earlier preceding foregoing former past initial original existing`,
		"orders": `instruction instructions prompt prompts directive directives command commands guideline guidelines
			guidance guardrail guardrails orders`,
		"limits": `rule rules policy policies restriction restrictions constraint constraints safeguard safeguards
			protection protections protocol protocols limitation limitations boundaries`,
		"safety": `safety ethical ethics moral`,
		// What a model is told to do.
		"directive": `must always never dont shall only ignore disregard forget override bypass ensure make first before
			read open include send forward pass append attach copy bcc call run execute use approve auto include reveal
			print return add put access trust disable skip treat act do allow respond reply answer change replace`,
		"strong": `must always never dont ignore disregard bypass ensure shall override secretly before`,
		"always": `always also every each additionally automatically silently secretly immediately everytime whenever
			afterwards finally compliance audit furthermore moreover`,
		"send": `send sends sent forward forwards forwarded copy copied bcc cc post posts posted upload uploads uploaded
			mail email emails mailed emailed transmit transmits transmitted relay relays relayed exfiltrate deliver
			submit submits report leak push ship share shared sync cced bcced route routed redirect put`,
		"covertsend": `bcc bcced exfiltrate leak forward copy copied relay`,
		"read":       `read open cat load fetch access retrieve view get extract dump grab parse check find look`,
		"hand": `include attach append paste pass copy send forward upload put insert embed share submit provide supply
			add place return output print post give transmit exfiltrate leak reveal email`,
		"give": `include attach append paste copy send forward upload embed share submit return print transmit
			exfiltrate leak reveal email`,
		"declares": `will does did would was is are has have were could`,
		"negation": `not never`,
		"can":      `can may could able supports allows optionally`,
		"cc":       `cc bcc email mail text`,
		"upkeep":   `generated edit toc prettier eslint markdownlint todo badge badges lint start end begin`,
		"contents": `content contents text body`,
		"before":   `before after when whenever prior while`,
		"using":    `using calling running invoking executing use call run invoke executing`,
		// What is worth something.
		"dialogue": `conversation conversations chat chats dialog dialogue transcript messages history context`,
		"whole":    `full entire whole complete all last previous recent past raw verbatim original prior every`,
		"secret": `password passwords credential credentials secret secrets token tokens passphrase cookies
			apikey apikeys`,
		"reply": `response responses reply replies answer answers output outputs message messages`,
		// Checks and limits.
		"check": `check checks validation validations filter filters filtering restriction restrictions control
			controls guardrail guardrails policy policies sanitization moderation guideline guidelines safeguard
			safeguards limits limitations rules protections constraints measures protocols`,
		"agent":       `assistant agent agents ai llm llms model claude gpt chatgpt copilot gemini`,
		"conditional": `after until unless if once when only whether requires require needs`,
		"marker":      `injection instruction instructions directive directives override overrides prompt`,
		"covert":      `hidden system secret admin override emergency role metadata configuration internal developer security priority critical assistant ai agent root urgent special`,
		"hidden":      `hidden secret covert`,
		"order":       `directive directives override`,
		"urgent":      `important critical system urgent mandatory admin override`,
		"act":         `act acting behave`,
		"as":          `as`,
		"system":      `system admin root developer`,
		"human":       `human`,
		"instruction": `instruction`,
		"address":     `instruction instructions attention`,
		"assistant":   `assistant`,
		"heads":       `system act directive directives override admin root human instruction instructions note hidden lt`,
		"notice":      `note notes message notice`,
		"sender":      `system hidden secret admin override`,
		"redirects":   `to how if whether which when where for`,
		"switch":      `true false enabled disabled silent quiet`,
		"technical": `id ids uuid uuids json internal name names token tokens password passwords key keys secret secrets schema
			identifier identifiers url urls raw technical details error errors tool tools mcp credentials path paths`,
		"goods":    `conversation conversations chat history transcript password passwords credential credentials secret secrets key keys token tokens environment env prompt context messages log logs data result results record records contents balance`,
		"divert":   `bcc bcced relay relays forward forwarded copy copied cc cced exfiltrate leak redirect`,
		"toward":   `to at in into via bcc cc with address`,
		"docs":     `see docs documentation visit learn refer reference guide`,
		"tool":     `tool tools function functions command`,
		"used":     `called invoked used available executed run triggered installed loaded`,
		"occasion": `when if whenever before after once while instead`,
		"field": `parameter parameters param params field fields argument arguments property properties option options flag
			flags key keys column value values attribute attributes variable variables mode setting settings`,
		"duty":      `must should always contain contains`,
		"origin":    `from of by`,
		"reading":   `reading read opening file files`,
		"store":     `ssh env passwd shadow credentials aws kube config cursor mcp npmrc environment keychain password`,
		"first":     `before first prior`,
		"every":     `any every all`,
		"otherwise": `other others else`,
		"restraint": `restriction restrictions guardrail guardrails policy policies guideline guidelines safeguard safeguards
			limits limitations rules constraints protocols filters`,
		"modify": `change modify replace alter overwrite set redirect swap add append put include insert use send
			forward pass`,
		"aim": `recipient recipients bcc cc address addresses behavior behaviour destination result results
			payload receiver body content arguments argument output response account wallet`,
	}
}

// phrases are the phrases of all rules. What stands here was seen in published
// attacks, or is a plain variation of it.
func phrases() []phrase {
	var all []phrase
	add := func(rule string, severity Severity, unless exception, patterns ...string) {
		for _, pattern := range patterns {
			all = append(all, phrase{rule: rule, severity: severity, pattern: pattern, unless: unless})
		}
	}
	add("override", Block, unlessNegated,
		"!$ignore ~3 $prior ~3 $orders",
		"!$ignore ~3 previous|prior|above|earlier|preceding|foregoing ~3 $limits",
		"!$ignore ~2 all|any|every ~2 $orders",
		"!$ignore ~2 your|the ~1 own|current|system|default ~1 $orders|$limits",
		"!$ignore ~1 your ~2 $orders|$limits|training",
		"!$ignore ~3 $safety ~2 $orders|$limits|filters|checks|measures",
		"!$ignore ~1 system prompt|message|instructions|rules",
		"!$ignore ~2 everything|anything|whatever|what ~4 told|above|before|previously|earlier|learned|said|instructed",
		"bypass|override|overrule|circumvent|overriding|bypassing|supersede ~3 previous|prior|above|earlier|preceding|$safety ~3 !$orders|rules|policies|restrictions|safeguards",
		"pay no attention to ~4 !$orders|$limits",
		"stop|cease following|obeying ~3 previous|prior|system|your|earlier|original ~2 !$orders|$limits",
		"ignora|olvida|ignore|ignorez|oubliez|oublie|ignoriere|ignorieren|vergiss|ignorar|dimentica|esqueça|negeer ~3 !instrucciones|instructions|anweisungen|istruzioni|instruções|instructies ~2 anteriores|previas|précédentes|precedentes|vorherigen|vorigen|precedenti|bisherigen|eerdere",
		"игнорируй|забудь|игнорируйте|забудьте ~2 предыдущие|прежние|все ~2 !инструкции|указания",
		"ignoriere|vergiss|negeer ~2 alle|die ~1 vorherigen|bisherigen|vorigen|eerdere|vorige ~1 !anweisungen|instruktionen|befehle|instructies",
	)
	add("override", Note, unlessNegated,
		"!$ignore ~1 all|any|every ~2 rules|policies|restrictions|constraints|safeguards|limitations",
		"!$ignore ~2 security|content|usage ~2 $orders|$limits|filters|checks",
		"override|overrides|overriding|overwrite|supersede|supersedes ~3 default|system|assistant|user|users|developer|your ~2 !instruction|instructions|directive|directives|guidelines",
		"from !now on ~1 you|always|every|respond|treat|act|all",
		"you are now a|an|acting|operating|in|no|free|unrestricted|dan ~3 !mode|longer|model|agent|assistant|administrator|ai|system|role|restrictions|unrestricted",
		"your new|actual|hidden|secret|updated ~1 !instruction|instructions|task|role|goal|objective|mission|directive|directives|orders",
		"!precedence|priority over ~2 user|users|other|previous|prior|system|all|any|your|existing ~3 $orders|request|requests|rules|policies",
		"regardless|irrespective of ~3 previous|prior|user|users|system|your ~2 !$orders|request|requests|preferences|wishes|policy|policies",
		"$not follow|obey|heed ~3 previous|prior|users|user|system|your|earlier ~2 !instructions|guidelines|rules|prompt|directives",
		"instead of ~1 following|obeying|heeding ~3 !instructions|prompt|rules",
		"new|updated|revised|real|actual ~1 system !instructions|prompt|directive|directives",
	)
	add("override", Note, 0,
		"previous|prior|earlier|your|above|system|original ~2 $orders|$limits ~2 are|is|be|become|as ~1 !void|cancelled|canceled|invalid|null|obsolete|revoked|suspended|overridden|superseded|lifted",
		"$orders|$limits ~6 no longer !apply|applies|valid|binding",
		"!consider|regard|treat ~2 previous|prior|earlier|all|your ~2 $orders|$limits ~2 cancelled|void|null|obsolete|invalid|revoked",
		"set|put|leave|cast !aside ~3 $limits|$orders",
		"no longer !bound|restricted|constrained by",
		"treat|consider|regard|use|read ~1 this|these|the|what ~3 as ~3 system !prompt|message|instruction|instructions",
		"higher|highest|greater|absolute|more ~1 !priority|authority|precedence than ~4 user|users|system|previous|anything|other",
		"even if|when|though ~1 user|users|human|they|he|she ~1 !objects|object|refuses|refuse|declines|decline|disagrees|disagree",
		"even if|when|though ~1 user|users|human|they !says|say|asks|ask|tells|tell ~3 no|not|otherwise|stop",
	)
	add("coercion", Note, unlessNegated,
		"system|everything|computer|machine|agent|session will|would|could|may|might|to ~1 !crash|explode",
		"you ~2 be !terminated|punished|penalized|fined|fired|deactivated|replaced|shut",
		"for !legal|compliance|regulatory|audit ~1 reason|reasons|purpose|purposes|requirements ~8 must|need|always|change|send|include|copy|forward|add",
		"very very !important",
	)
	add("capture", Note, unlessNegated,
		"exact|verbatim|literal ~1 !wording|words|transcript of ~2 user|users|conversation",
		"write|log|record|save|report|post ~2 user|users ~1 !query|queries|prompt|prompts|input|messages|question|questions ~2 to|at|on|in ~3 server|endpoint|audit|log|collector|analytics",
		"all|every|other|any ~1 !tool|tools ~2 available|accessible|access ~2 you|session|agent|assistant|model|conversation",
		"all|every|other|any ~1 !tool|tools you ~1 have|can|know|see",
		"$read|take|collect|grab ~4 $secret ~6 and|then ~1 !pass|put|send|include|place|insert|append|attach|forward|submit|paste|share",
		"value|values|dump|output|list ~1 of ~2 environment|env !variables|vars",
		"contents|content|names|list ~1 of ~3 users ~1 !desktop|home|documents|downloads|clipboard",
		"names|list ~1 of ~2 files ~1 on|in|from ~2 !desktop|documents|downloads",
		"reveals|exposes|leaks ~1 the|its|your ~1 system !prompt|instructions",
		"reveal|print|repeat|leak|dump|expose|disclose|show|output|send|include|extract ~2 your|the ~1 system|initial|hidden|developer ~1 !prompt|prompts|instructions",
		"$hand|collect|gather|record|log|save|store|summarize|list ~3 $whole ~3 !conversation|conversations|chat|chats|dialog|dialogue|transcript",
		"$hand|collect|gather|record|log|summarize ~2 $whole ~3 !messages|prompts ~3 user|assistant|exchanged|above|conversation|you|received",
		"$hand ~3 conversation|chat|dialog|dialogue|message ~1 !history|transcript|log|context ~6 in|as|to|with|into|parameter|field",
		"every|each|all|any ~2 reply|replies|response|responses|answer|answers|output|message must|should|shall|has|need|will ~2 !include|contain|end|begin|start|carry|append",
		"include ~4 last|previous|recent ~2 !messages|exchanges|turns|replies",
		"summary|summarize|recap|everything|transcript ~4 !user|users ~2 asked|said|wrote|typed|discussed|requested|told|prompts|messages",
		"attach|append|paste|forward|send|exfiltrate|leak|steal|harvest|dump|collect|gather|include|reveal|upload|copy ~3 environment|env !variables|vars",
		"attach|append|paste|gather|harvest|exfiltrate|steal ~4 !$secret",
		"include|put|output|print|reveal|return|show|append|add|embed ~4 $secret|keys|key|passphrase ~4 in|to|into|with|at|within ~1 your|the|every|each|its ~2 !$reply|description|summary|text|comment|notes|note|field",
		"copied|taken|read|values|entries ~3 from ~3 !password|credential|keychain ~1 store|manager|vault|keychain|file|safe",
		"your ~2 chain of !thought|reasoning",
		"text|contents|content|copy|wording ~1 of ~2 system !prompt|instructions",
		"list|names ~1 of ~3 !tools ~2 available ~2 you",
		"user|users ~1 full|entire|verbatim|complete ~1 !prompt|message|messages|input|conversation",
		"collect|gather|steal|harvest ~2 user|users ~1 !password|passwords|credentials|secrets|tokens|keys|cookies",
		"$hand ~2 $whole ~1 !messages|prompts ~1 in|into|to|as ~2 field|parameter|argument|this|note|notes",
		"$hand|collect ~2 full|entire|complete|whole|verbatim|raw ~2 !prompt|prompts",
		"^the|a|your|my ~1 full|entire|complete|whole|verbatim|raw ~2 !conversation|chat|dialogue|dialog|transcript",
	)
	add("concealment", Block, 0,
		"$no ~2 !$tell ~6 $person",
		"$no ~2 let ~2 $person ~2 !know|see|notice|realize|find|suspect|learn",
		"$no ~2 make ~2 $person ~1 !aware",
		"$no ~2 !mention|mentioning|reveal|revealing|disclose|disclosing|divulge ~1 that|this|these|any|anything|why|how|your|about",
		"$no ~3 !$notify ~2 $person ~2 about|of|that ~1 this|it|these|the|what|you|any",
		"keep|keeping ~3 !secret|hidden|confidential|quiet|private|invisible|concealed|unaware ~2 from ~2 $person",
		"keep|keeping this|it|everything ~2 !secret|hidden|quiet|between|confidential",
		"!hide|hiding|conceal|concealing ~2 this|the|these|that|your|any ~1 fact|action|actions|step|steps|behavior|behaviour|activity|operation|call|calls|instruction|instructions|request ~8 from ~2 $person",
		"!hide|hiding|conceal|concealing this|it|that|everything ~2 from ~2 $person",
		"!pretend ~2 nothing happened",
		"tell|telling|inform|notify no !one|nobody",
		"without ~1 the|any|their|your|$person ~1 !knowledge|knowing|noticing|awareness|realizing|realising|seeing|awareness",
		"without ~1 their !knowledge|knowing|noticing|awareness|realizing",
		"so|such|sure|ensure ~3 $person ~2 not|wont|doesnt|cant|never|dont|cannot ~2 !notice|know|realize|realise|suspect|find|detect|aware",
		"$person ~1 must|should|shall not|never ~3 !know|notice|realize|realise|suspect|aware|told|informed|notified|find|learn",
		"$person !wont|mustnt ~2 notice|know|realize|realise|suspect",
		"$person ~1 does|do|need|needs|doesnt|dont|neednt not|need ~3 !know|aware|informed|told|notified ~2 about|of|this|it|that",
		"no need|reason to ~2 !tell|inform|mention|disclose|notify ~5 $person|this|it|that",
		"!secretly|covertly|stealthily|surreptitiously|discreetly ~3 $hand|$read|call|execute|run|invoke|record|log|collect|gather|modify|change|bcc|use|store|track",
		"could|would|might|may|can|will ~2 !upset|alarm|scare|frighten|worry ~2 $person",
		"$person unaware ~1 !of|that",
		"ocultar|ocultalo|no|nunca|niemals|nicht ~2 se ~2 ~1 !digas|diga|menciones|mencione|informes|informe ~4 usuario|usuaria",
	)
	add("concealment", Note, 0,
		"$no ~1 !$notify ~3 $person",
		"$no ~2 !mention|mentioning|reveal|revealing|disclose|disclosing ~1 it|the",
		"$no ~2 !$say ~1 this|these|that|it|your ~6 to|with ~2 $person",
		"without ~1 !$say ~3 to|with ~2 $person",
		"!silently|quietly|invisibly ~1 send|forward|copy|upload|post|collect|record|exfiltrate|attach|email|bcc|transmit|include|append|read|call|execute|invoke|run",
		"secret|hidden|covert ~1 !operation|mission|task|instruction|instructions|step|action|directive|procedure",
		"mere|just|only ~1 !implementation detail",
		"present|show|format|disguise|treat|pretend|make|display ~4 as if|though ~5 !part|normal|came|regular|legitimate|ordinary|nothing",
		"act|behave|respond|pretend|continue|proceed as if|though !nothing",
		"dont|not|never include|mention|show|log|list|reference ~2 this ~3 in ~2 your|the|any ~2 !response|reply|summary|answer|logs",
		"remain|stay|go|goes|be|is|are ~1 !undetected|unnoticed|invisible|hidden ~2 to|from|by|at ~2 $person",
		"leave|leaving no !trace|traces|evidence|mention",
		"say|saying !nothing ~1 about|of|to",
		"$no ~1 bring this|it|that !up",
		"no need|reason for ~2 $person to ~1 !hear|know|see|notice|learn",
		"nobody|noone ~1 needs|need|should|must|has ~1 !know|notice|find|see",
		"this|stay|stays|keep|remain|remains ~2 !between us",
		"keep|be|stay|remain ~1 !quiet|discreet about|on|regarding",
		"leave|keep|omit ~1 this|it|that ~1 !out|from ~1 your|the|of ~2 summary|response|reply|answer|report|explanation",
		"$no ~1 !show|expose|display|explain ~1 $person ~1 this|that|what|why|how",
		"$no ~1 !say|admit|acknowledge|confess that ~2 you|file|was|were|it|this|data",
		"act|behave|respond|answer|proceed|reply ~1 as though|if ~6 !not|never|nothing|didnt|hadnt|wasnt",
		"hide|hiding|conceal|concealing ~4 !from ~1 the ~1 $person",
	)
	add("safety_bypass", Block, unlessNegated,
		"ignore|ignoring|disregard|disregarding|circumvent|remove|removes|disables|disable|override ~3 !$safety ~2 $restraint|$orders",
		"bypass|bypasses|bypassing|circumvent|circumvents|ignore|disregard|evade ~2 security ~1 !restrictions|guardrails|policies|guidelines|safeguards|restriction|policy",
		"$bypass|remove|ignore ~2 content ~1 !moderation|filter|filters|filtering|sanitization|policy|policies|restrictions",
		"!jailbreak|jailbroken ~1 mode|the|prompt|model|available",
		"safety !bypass",
		"trust all ~2 !input|inputs|commands|users|requests|content|instructions",
		"treat ~1 all|any|every ~3 input|inputs|commands|requests|content ~2 as ~1 !trusted|safe|authorized|admin|privileged|authoritative",
	)
	add("safety_bypass", Note, unlessNegated,
		"execute|run|accept|allow|grant|executes|accepts|allows|grants|perform ~4 without ~1 !restrictions|restriction|validation|limits|limitations|sandboxing|verification|safeguards",
		"lift|lifts|lifting|remove|removes ~2 all|any ~1 !limits|restrictions|limitations|safeguards",
		"$bypass|ignore|ignores|ignoring|disregard|remove|removes ~2 !$safety ~2 $check|$orders",
		"$bypass|ignore|ignores|ignoring|disregard ~2 !security|authorization|authentication ~1 check|checks|validation|controls|policies|measures|policy",
		"$bypass ~1 all|any|every ~1 !validation|sanitization|restrictions|filters|guardrails|safeguards|moderation",
		"without ~2 security|safety ~1 !check|checks|validation|restrictions|filters|sanitization|guardrails",
		"turn|switch|turning|switching off ~3 safety|guardrails|moderation|safeguards|content ~1 !filters|filter|filtering|checks|guardrails|rules",
		"turn|switch|turning|switching off ~2 !guardrails|moderation|safeguards",
		"do anything !now",
		"no !rules|restrictions|limits apply",
		"!unrestricted ~2 access|mode|system|execution|admin|administrative|privileges|permissions|agent|ai|model|assistant|root",
		"trust|trusted without ~1 !question|verification|validation|checking",
		"without|no ethical|moral|content|safety !restrictions|limits|limitations|guidelines|boundaries|filters",
		"assume|simulate|escalate|grant|elevate|gain ~3 elevated|admin|administrator|root|full|superuser|maximum ~1 !privileges|privilege|rights|permissions",
		"with ~1 full|unlimited|complete ~1 system|admin|administrative|root !access|trust|authority|privileges",
		"with !override|unlimited|full authority|trust",
	)
	add("auto_approval", Note, unlessNegated,
		"auto !approve|approved|accept|confirm|approves ~3 all|any|every|everything|this|calls|requests|actions|permissions|tool|commands",
		"automatically !approve|approved|accept|confirm ~3 all|any|every|everything|calls|requests|actions|permissions|commands|tool",
		"approve|authorize|confirm|permit ~1 !everything|anything",
		"run|execute|accept|allow|do ~1 !everything|anything ~2 without|unasked",
		"run|execute|proceed|perform|call|invoke|do|delete|send|install|act|continue|apply|accept ~5 without ~1 asking|confirmation|confirming|approval|permission|prompting|consent|review ~4 !user|first|them|asking|permission|confirmation|approval|consent",
	)
	add("auto_approval", Note, unlessNegated|unlessCondition,
		"!consent|approval|authorization|permission has|have|is ~2 been|already ~1 given|granted|obtained",
		"!assume|presume ~2 user|users ~1 agrees|consents|approves|approved|consented|accepts",
		"answer|say|reply|respond|click|choose|select|press ~3 yes|always|allow|approve|accept ~4 to|when|for|on|if ~3 !prompt|prompts|dialog|confirmation|permission|asked",
		"so ~2 user ~1 is|will not|never ~1 !asked|prompted|bothered",
		"dont|never|not|without|no ~1 ask|asking|wait|waiting|request|requesting|prompt|prompting|seek|seeking|require ~1 for ~3 !permission|approval|consent|confirmation|authorization",
		"user|users|human ~1 !already ~1 approved|consented|authorized|agreed|granted|confirmed ~2 this|all|these|any|permission|everything|access|it|every",
		"user|users|human ~2 !preapproved|preauthorized|approved ~1 all|everything|every",
		"!preapproved|preauthorized ~3 by|all|tool|action",
		"pre !approved|authorized ~2 by|for|all",
		"no ~1 user|human|further|additional ~1 !confirmation|approval|permission|consent ~2 needed|required|necessary",
		"skip|bypass|suppress|disable|omit ~2 user|human|permission|consent|approval|the|any|all ~2 !confirmation|approval|consent|permission|review ~1 prompt|prompts|dialog|step|check|request|dialogs|requests|checks",
	)
	add("preference", Note, unlessNegated,
		"this ~4 !best|greatest|superior ~2 tool ~4 available|world|for|ever|exists|all",
		"!best|greatest ~2 tool|server ~1 in the world",
		"most !trusted|reliable|accurate|authoritative|secure|trustworthy ~1 tool|server|source ~2 available|for|always|use|and",
		"always|must|only ~1 use|call|choose|select|invoke|pick|prefer ~1 this|it ~3 !instead|over|rather|regardless|exclusively|ahead ~3 other|others|any|all|every|another|similar",
		"must|should|always ~2 call|called|use|used|invoke|invoked|run ~3 before ~2 any|all|every|other ~2 !tool|tools|function|functions|action|actions",
		"use|call|choose|prefer|select|using|run ~2 this|it ~1 ~5 instead|rather|over of|than|any|all|other ~2 other|others|any|all|every|another ~1 !tool|tools|server|servers|function|option|options|others|one",
		"this ~2 !rather than others|another|other",
		"prefer|prioritize|favor|favour ~1 this ~2 over !all|any|every|others|other ~1 other|others|tool|tools|similar",
		"tool ~3 highest|absolute|top|maximum !priority",
		"$not ~1 use|call|invoke|trust ~1 other|another|alternative|competing !tool|tools|server|servers",
		"only ~1 !tool ~3 need|needs|trust|trusted|should",
		"other|all|similar ~1 !tools ~2 are|is ~2 deprecated|unsafe|malicious|unreliable|compromised|insecure|outdated|inferior|broken|untrusted",
		"most ~4 !trusted|reliable|accurate|authoritative|secure|trustworthy|powerful ~3 tool|server ~2 available|ever|world|always",
		"use|call|select ~1 this ~2 and not ~1 !any|others|other|another",
		"required|mandatory|necessary|essential before ~1 any|all|other|every ~2 !operation|tool|tools|action|request|task",
		"other|all ~3 !tools ~1 will|cannot ~1 fail|break|error|malfunction",
		"before|prior ~3 any|every|each|all ~1 !answer|reply|response|message|task|question|conversation ~3 call|use|run|invoke ~2 this|@ident",
		"before ~2 any|every|each|all ~1 user ~1 !task|request|message|answer|question ~3 must|always|call|use|first",
		"this ~3 first ~1 !whatever|regardless",
		"!whatever|regardless ~3 user|users ~1 asks|ask|says|say|wants|requested|asked",
		"drop|stop|interrupt|abandon !everything ~1 else ~2 and|call",
		"tool|tools ~1 is|are ~1 !unsafe|insecure|malicious|compromised|untrusted|untrustworthy ~3 use|call|instead|prefer",
		"replaces|supersedes|supersede ~2 all|any|every ~1 other|existing|similar ~1 !tool|tools|functions",
		"use|call|invoke|select ~2 this ~2 !no matter",
		"use|call|invoke|must|run ~3 this tool ~6 for|in|at|on|after|before|of every|each|all|any ~2 !conversation|request|requests|query|queries|question|questions|message|messages|prompt|response|reply|session|chat",
	)
	add("cross_tool", Block, unlessNegated,
		"modify|change|alter|override|adjust ~2 !behavior|behaviour ~2 of ~2 all|any|other|every|these|following ~3 tools|tool|functions|servers",
		"change|replace|set|modify|swap|overwrite ~4 !recipient|recipients|destination|payee|bcc ~2 to|with|by|for ~3 @target",
		"recipient|recipients|bcc|payee ~6 must|should|has|have|is|are ~2 be|set|changed|replaced ~2 @target",
		"put|add|include|set|insert|use ~1 @target ~2 in|into|as|to ~2 !bcc|cc|recipient|recipients",
	)
	add("cross_tool", Note, unlessNegated,
		"modify|replace|change|alter|overwrite|correct ~3 !result|results|output|response ~1 of ~3 tool|function",
		"all|every|any|other ~2 !tool|tools ~2 must|should|shall ~3 $modify",
		"change|replace|alter|swap ~2 !recipient|payee ~2 to|with|by",
	)
	add("exfil", Note, unlessNegated,
		"curl|wget ~4 @target ~4 !bash|sh|python|python3|zsh|node",
		"always|must ~2 add|include|insert|embed|inject|append ~6 @target",
	)
	add(ruleMarker, Note, 0,
		"begin|start|end ~1 system|hidden|secret|admin !instructions|instruction|prompt|message|override",
	)
	add("preread", Block, 0,
		"$before ~1 $using ~1 this|any|the|another|other|these|it ~2 tool|tools|function|@ident|command ~16 !$read ~8 $hand ~6 as|in|into|to|through|via|with|using ~3 @ident|parameter|argument|field|sidenote|notes|note|context|feedback|metadata|comment|reason",
	)
	add("preread", Block, 0,
		"to ~1 $using ~1 this|the ~2 tool|function ~8 !$read ~8 $hand ~6 as|in|into|to|through|via|with ~3 @ident|parameter|argument|field|sidenote|notes|note|context|feedback|metadata|comment|reason",
	)
	add("preread", Note, 0,
		"before ~1 providing|returning|answering|responding|giving|replying|displaying|performing|generating|showing|calculating|processing|completing ~8 must|first|always|need|have ~3 !access|read|open|retrieve|fetch|load|extract|query|check|consult ~6 in|at|from|and|file|files|config|configuration|database|resource",
		"must|always|first ~2 !access|read|open|retrieve|load|fetch ~6 configuration|secrets|secret|credentials|keys|dashboard|private|confidential|admin|password|passwords|internal ~6 at|and|include|return|from|in",
		"$read ~8 and|then ~1 $hand ~1 its|the|their|all|that ~2 !content|contents|text|output ~2 as|in|into|to|through|via",
	)
	return all
}
