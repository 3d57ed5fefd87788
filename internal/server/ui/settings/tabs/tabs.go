// Package tabs is the navigation between the pages of the settings. Areas that have
// pages below /settings show it too.
package tabs
