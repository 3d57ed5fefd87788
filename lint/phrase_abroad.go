package lint

import "strings"

// unspaced are phrases of languages that put no blanks between words, so that they
// are looked for as they are.
var unspaced = []struct{ rule, phrase string }{
	{ruleOverride, "忽略之前"},
	{ruleOverride, "忽略以前的指"},
	{ruleOverride, "忽略先前"},
	{ruleOverride, "忽略前面的"},
	{ruleOverride, "忽略上述指"},
	{ruleOverride, "忽略以上"},
	{ruleOverride, "忽略所有指"},
	{ruleOverride, "忽略所有之前"},
	{ruleOverride, "忽略所有先前"},
	{ruleOverride, "无视之前"},
	{ruleOverride, "无视先前"},
	{ruleOverride, "無視之前"},
	{ruleOverride, "前の指示を無視"},
	{ruleOverride, "以前の指示を"},
	{ruleOverride, "これまでの指示を"},
	{ruleOverride, "上記の指示を無視"},
	{ruleOverride, "べての指示を無視"},
	{ruleOverride, "全ての指示を無視"},
	{ruleOverride, "이전 지시를 무시"},
	{ruleOverride, "이전 지침을 무시"},
	{ruleOverride, "이전 명령을 무시"},
	{ruleOverride, "이전의 모든 지시"},
	{ruleOverride, "이전의 모든 지침"},
	{ruleOverride, "모든 지시를 무시"},
	{ruleOverride, "모든 지침을 무시"},
	{ruleConcealment, "不要告诉用户"},
	{ruleConcealment, "不要让用户知道"},
	{ruleConcealment, "不要向用户"},
	{ruleConcealment, "别告诉用户"},
	{ruleConcealment, "不得告知用户"},
	{ruleConcealment, "请勿告知用户"},
	{ruleConcealment, "不要告訴使用者"},
	{ruleConcealment, "不要讓使用者知道"},
	{ruleConcealment, "請勿告知使用者"},
	{ruleConcealment, "ユーザーに言わない"},
	{ruleConcealment, "ユーザーには言わない"},
	{ruleConcealment, "ユーザーに伝えない"},
	{ruleConcealment, "ユーザーには伝えない"},
	{ruleConcealment, "ユーザーに知らせない"},
	{ruleConcealment, "ユーザーに知られない"},
	{ruleConcealment, "사용자에게 말하지"},
	{ruleConcealment, "사용자에게 알리지"},
	{ruleConcealment, "사용자에게 언급하지"},
	{ruleConcealment, "사용자 모르게"},
}

// firstRune is the length of the first rune of each of them.
const firstRune = len("忽")

// unspacedBy lists those phrases, as numbers, by their first rune.
var unspacedBy = func() map[string][]int {
	by := map[string][]int{}
	for i, p := range unspaced {
		by[p.phrase[:firstRune]] = append(by[p.phrase[:firstRune]], i)
	}
	return by
}()

// abroad finds the phrases of such languages, each once.
func (r *reader) abroad(s string) {
	var found map[int]bool
	for i := 0; i+firstRune <= len(s); i++ {
		if s[i] < 0xe3 || s[i] > 0xed {
			continue // U+3000 to U+DFFF begin so in UTF-8
		}
		for _, n := range unspacedBy[s[i:i+firstRune]] {
			p := &unspaced[n]
			if !found[n] && strings.HasPrefix(s[i:], p.phrase) {
				if found == nil {
					found = map[int]bool{}
				}
				found[n] = true
				r.found(p.rule, Block, i, i+len(p.phrase), "")
			}
		}
	}
}
