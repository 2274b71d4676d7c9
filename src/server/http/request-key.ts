// The key that a request brings.

/** A bearer token, or x-api-key, as Anthropic's clients send it; undefined if there is none. */
export function keyOf(headers: Headers): string | undefined {
  // SGLang's router sends the header twice: its client's and its own, which Headers joins.
  const bearer = /^bearer +(.+?)(?:, *bearer .*)?$/i.exec(headers.get('authorization') ?? '')?.[1]?.trim();
  return bearer ?? headers.get('x-api-key') ?? undefined;
}
