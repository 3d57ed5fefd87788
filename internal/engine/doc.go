// Package engine runs the watch: it starts the checks that are due, judges and stores
// what they saw, and has people told.
//
// What is due stands in rows of the store, never in memory: every step takes the rows
// that are due now and commits what follows from them in one transaction. So a process
// that is killed loses nothing that was stored, and repeats at most the checks that it
// was in the middle of, whose results are dropped if they were stored already.
//
// The work itself is done by a queue in the same database, which this package alone
// knows. Any number of engines may share one database.
package engine
