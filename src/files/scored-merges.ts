// The merges of a SentencePiece vocabulary, which has scores instead: every way to make a token of two others, best score first.

/** Characters of a token that merges make. To look for the ways to cut one takes time as the square of its length. */
const MOST_LENGTH = 512;

interface ScoredToken {
  text: string;
  id: number;
  score: number;
}

/** `tokens`: those of texts alone, by distinct ids; the last of several with one text counts. */
export function scoredMerges(tokens: Iterable<ScoredToken>): [string, string][] {
  const byText = new Map<string, ScoredToken>();
  for (const token of tokens) if (token.text.length <= MOST_LENGTH) byText.set(token.text, token);
  const made = [...byText.values()].toSorted((a, b) => b.score - a.score || a.id - b.id);
  return made.flatMap(({ text }) => splitsOf(text, byText));
}

/** The ways to cut a token into two others, by the ids of the two. */
function splitsOf(text: string, byText: ReadonlyMap<string, ScoredToken>): [string, string][] {
  const found: { pair: [string, string]; left: number; right: number }[] = [];
  for (let at = 1; at < text.length; at++) {
    const left = byText.get(text.slice(0, at));
    if (left === undefined) continue;
    const right = byText.get(text.slice(at));
    if (right !== undefined)
      found.push({ pair: [text.slice(0, at), text.slice(at)], left: left.id, right: right.id });
  }
  if (found.length > 1) found.sort((a, b) => a.left - b.left || a.right - b.right);
  return found.map(({ pair }) => pair);
}
