package store

// Seal encrypts something that a browser holds for a while, for a place that Unseal has
// to name again. Every process with the same key can open it.
func (s *Store) Seal(plain []byte, place string) ([]byte, error) {
	if s.sealer == nil {
		return nil, ErrNoKey
	}
	return s.sealer.Seal(plain, "held/"+place)
}

// Unseal is the inverse of Seal.
func (s *Store) Unseal(sealed []byte, place string) ([]byte, error) {
	if s.sealer == nil {
		return nil, ErrNoKey
	}
	return s.sealer.Open(sealed, "held/"+place)
}
