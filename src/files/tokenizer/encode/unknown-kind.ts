// The error for a tokenizer.json that names a kind of part which is not built.

export class UnknownKind extends Error {
  constructor(part: string, kind: unknown) {
    super(`Unknown ${part}: ${String(kind)}`);
  }
}
