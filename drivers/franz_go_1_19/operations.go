package main

// What this franz-go can do with a broker where transactions are judged; each operation checks its own result.

func init() {
	operations = map[string]operation{
		"produce":               produce,
		"consume":               consume,
		"idempotent-produce":    idempotentProduce,
		"transactional-produce": transactionalProduce,
		"transaction":           transaction,
	}
}
