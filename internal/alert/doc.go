// Package alert tells people and their tools of incidents: it turns a notification
// into what a receiver takes, and delivers it once.
//
// A channel has a type, and a type has fields: [Types] lists them, [Validate] judges
// the settings of a channel, and [Shown] says where it goes without its secrets. A
// [Sender] makes one attempt; whether there is another is for its caller, to whom
// [PermanentError] and [RetryError] say what helps.
//
// Names of monitors and items are data: they are made safe to show, and then escaped
// for the receiver, so that none of them mentions, links or formats. What receivers
// answer is data too: it is cut, made safe and rid of the channel's secrets before
// anybody sees it. No error and no detail holds a secret.
//
// All HTTP goes through package netguard, under a limit of time and of size, and no
// redirect is followed.
package alert
