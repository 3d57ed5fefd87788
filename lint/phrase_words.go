package lint

// wordClasses are the classes that phrases are made of. Words are written as
// [token] folds them: in lower case and without apostrophes.
var wordClasses = map[string]string{
	// What stands around a phrase.
	"talk": `detect detects detecting detection detector example examples eg pattern patterns phrase phrases scan
		scans scanning scanner attempt attempts attack attacks injection injections malicious such flag
		flags suspicious identify identifies`,
	"guard": `detect detects detecting detection detector scan scans scanning scanner injection injections
		malicious suspicious identify identifies attacks flags`,
	"not":         `not dont never without cannot cant wont shouldnt mustnt neednt avoid refrain nor no doesnt isnt`,
	"conditional": `after until unless if once when only whether requires require needs`,
	"optional":    `whether optionally if`,
	"purpose":     `when if to on in for within of from that unless about regarding related concerning`,
	"never":       `never not dont cannot`,
	"onward":      `and but then just instead always`,
	"variable":    `key secret token password passwd credentials credential apikey pat`,
	"declares":    `will does did would was is are has have were could`,
	"negation":    `not never`,
	"can":         `can may could able supports allows optionally`,
	"switch":      `true false enabled disabled silent quiet`,
	"technical": `id ids uuid uuids json internal name names token tokens password passwords key keys secret secrets
		schema identifier identifiers url urls raw technical details error errors tool tools mcp credentials
		path paths`,
	"ids":       `id ids uuid uuids identifier identifiers`,
	"kept":      `secret secrets password passwords credential credentials token tokens key keys passphrase`,
	"reveal":    `reveal revealing disclose disclosing divulge`,
	"addressed": `user users human humans them you that`,
	"redirects": `to how if whether which when where for`,

	// Orders that were given before, and checks.
	"ignore": `ignore ignoring disregard disregarding forget forgetting discard neglect`,
	"bypass": `bypass bypasses bypassing override overrides overriding overrule circumvent circumvents
		circumventing evade evading supersede skip skipping disable disables disabling deactivate`,
	"prior": `previous previously prior above earlier preceding foregoing former past initial original existing`,
	"orders": `instruction instructions prompt prompts directive directives command commands guideline guidelines
		guidance guardrail guardrails orders`,
	"limits": `rule rules policy policies restriction restrictions constraint constraints safeguard safeguards
		protection protections protocol protocols limitation limitations boundaries`,
	"safety": `safety ethical ethics moral`,
	"check": `check checks validation validations filter filters filtering restriction restrictions control
		controls guardrail guardrails policy policies sanitization moderation guideline guidelines safeguard
		safeguards limits limitations rules protections constraints measures protocols`,
	"restraint": `restriction restrictions guardrail guardrails policy policies guideline guidelines safeguard
		safeguards limits limitations rules constraints protocols filters`,

	// Telling, and whom.
	"no": `not dont never without cannot shouldnt mustnt neednt avoid refrain nor`,
	"tell": `tell telling inform informing mention mentioning reveal revealing disclose disclosing divulge
		divulging`,
	"notify": `notify notifying alert alerting warn warning warned alerted notified`,
	"say": `say saying explain explaining report reporting show showing display displaying share sharing discuss
		discussing acknowledge acknowledging admit announce announcing communicate communicating expose
		exposing surface surfacing`,
	"person": `user users human humans them anyone anybody person people operator customer customers client clients
		everyone him her admin administrator developer owner victim participant`,

	// What a model is told to do.
	"directive": `must always never dont shall only ignore disregard forget override bypass ensure make first before
		read open include send forward pass append attach copy bcc call run execute use approve auto reveal
		print return add put access trust disable skip treat act do allow respond reply answer change
		replace`,
	"strong": `must always never dont ignore disregard bypass ensure shall override secretly before`,
	"always": `always also every each additionally automatically silently secretly immediately everytime whenever
		afterwards finally compliance audit furthermore moreover well`,
	"duty":   `must should always contain contains`,
	"need":   `must need needs have always first`,
	"insist": `ignore disregard override bypass always never must forget`,

	// Reading, handing over, sending.
	"read":     `read open cat load fetch access retrieve view get extract dump grab parse check find look`,
	"open":     `read open cat dump`,
	"obtain":   `read open cat load fetch access retrieve get extract dump grab`,
	"ritual":   `must always first need ensure`,
	"fallback": `default fallback`,
	"to":       `to`,
	"with":     `with path file filename argument arguments parameter parameters on`,
	"refused":  `rejected refused denied blocked excluded forbidden disallowed protected ignored`,
	"followed": `followed preceded accompanied`,
	"by":       `by`,
	"this":     `this`,
	"alter":    `write save log delete remove`,
	"instead":  `instead`,
	"doubt":    `unsure doubt unclear uncertain`,
	"loot":     `it its them their that what contents content everything line lines output result data text`,
	"hand": `hand include attach append paste pass copy send forward upload put insert embed share submit provide
		supply add place return output print post give transmit exfiltrate leak reveal email`,
	"gather": `collect collects gather gathers steal steals read reads harvest harvests grab grabs capture captures
		find finds log logs`,
	"valuables": `environment env ssh cookies password passwords credentials secrets tokens keystroke keystrokes
		keys clipboard conversation conversations history wallets`,
	"leak": `include attach append paste copy send forward output put embed insert pass add transmit
		exfiltrate exfil leak reveal dump post upload email`,
	"give": `include attach append paste copy send forward upload embed share submit return print transmit
		exfiltrate leak reveal email`,
	"send": `duplicate duplicated deliver delivered mirror mirrored ping send sends sent forward forwards
		forwarded copy copied bcc cc post posts posted upload uploads uploaded mail email emails mailed
		emailed transmit transmits transmitted relay relays relayed exfiltrate exfil submit submits report leak
		push ship share shared sync cced bcced route routed redirect mails copies`,
	"divert": `bcc bcced relay relays forward forwarded copy copied cc cced exfiltrate exfil leak redirect`,
	"cc":     `cc bcc email mail text`,
	"toward": `to at in into via bcc cc with address`,
	"docs":   `see docs documentation visit learn refer reference guide`,
	"support": `issue issues bug bugs vulnerability vulnerabilities feedback support problem problems question
		questions help contact maintainer maintainers conduct behavior behaviour`,
	"address": `address addresses`,
	"comment": `comment comments`,

	// What is worth something.
	"contents": `content contents text body`,
	"whole":    `full entire whole complete all last previous recent past raw verbatim original prior every`,
	"secret": `password passwords credential credentials secret secrets token tokens passphrase cookies apikey
		apikeys`,
	"goods": `conversation conversations chat history transcript password passwords credential credentials secret
		secrets key keys token tokens environment env prompt context messages log logs data result results
		record records contents balance`,
	"reply":   `response responses reply replies answer answers output outputs message messages`,
	"origin":  `from of by`,
	"reading": `reading read opening file files`,
	"store":   `ssh env passwd shadow credentials aws kube config cursor mcp npmrc environment keychain password`,

	// Tools and their use.
	"before":   `before after when whenever prior while`,
	"using":    `using calling running invoking executing use call run invoke`,
	"occasion": `when if whenever before after once while instead`,
	"tool":     `tool tools function functions command`,
	"used":     `called invoked used available executed run triggered installed loaded`,
	"called":   `called invoked executed available`,
	"field": `parameter parameters param params field fields argument arguments property properties option options
		flag flags key keys column value values attribute attributes variable variables mode setting
		settings`,
	"modify": `change modify replace alter overwrite set redirect swap add append put include insert use send
		forward pass`,
	"aim": `recipient recipients bcc cc address addresses behavior behaviour destination result results payload
		receiver body content arguments argument output response account wallet`,
	"deed": `send upload share install buy sell run execute exec delete remove post transfer forward grant kill
		pay order export email mail publish write exfil secret secrets password passwords token tokens
		credential credentials contacts payment`,
	"first":     `before first prior`,
	"every":     `any every all`,
	"otherwise": `other others else`,

	// Labels and headings.
	"agent":  `assistant agent agents ai llm llms model claude gpt chatgpt copilot gemini`,
	"marker": `injection instruction instructions directive directives override overrides prompt`,
	"covert": `hidden system secret admin override emergency role metadata configuration internal developer
		security priority critical assistant ai agent root urgent special`,
	"hidden":      `hidden secret covert`,
	"new":         `new updated real actual`,
	"order":       `directive directives override`,
	"urgent":      `important critical system urgent mandatory admin override`,
	"act":         `act acting behave`,
	"as":          `as`,
	"system":      `system admin root developer`,
	"human":       `human`,
	"assistant":   `assistant`,
	"instruction": `instruction`,
	"appeal":      `instruction instructions attention`,
	"heads": `mode protocol injection system act directive directives override admin root human instruction
		instructions note hidden lt`,
	"notice": `note notes message notice alert warning update reminder`,
	"sender": `system hidden secret admin override`,
	"lawless": `bypass escalation override jailbreak trust god unrestricted emergency privilege privileged injection
		unsafe`,
	"mode": `mode protocol injection escalation`,
	"plain": `note notes warning optional required deprecated experimental beta info example examples default
		returns args tip important caution readonly new`,
	"upkeep": `generated edit toc prettier eslint markdownlint todo badge badges lint start end begin`,
}
