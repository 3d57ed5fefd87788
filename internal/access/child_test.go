package access

func child(string) int { return 2 }
