// Package watch decides what a check of a monitor means over time: the states of the
// three axes, events, incidents, who is told and when, and what an approval is.
//
// Everything in it is a pure function of values that its callers read and write: no
// I/O, no clock. Times are in UTC; what is stored is cut to milliseconds.
//
// What servers say never reaches an event, an incident or a notification, but for the
// names of tools and other items, which have been through package plain.
package watch
