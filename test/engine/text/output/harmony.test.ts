// Replies of gpt-oss against openai-harmony's parser (scripts/reference/harmony.py), at every split of the stream.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { formatOf, piecesOf, specials, told, type Told } from './feed.ts';

interface Reply {
  text: string;
  messages: { channel: string; recipient?: string; text: string }[];
}

const { replies } = JSON.parse(
  readFileSync(new URL('../../../golden/harmony.json', import.meta.url), 'utf8'),
) as { replies: Reply[] };

const MARKS = [
  '<|start|>',
  '<|channel|>',
  '<|constrain|>',
  '<|message|>',
  '<|end|>',
  '<|call|>',
  '<|return|>',
];
const NAMESPACE = 'functions.';

/** Special tokens, and the texts between them. */
const tokensOf = (text: string): string[] => text.split(/(<\|[a-z]+\|>)/).filter((token) => token !== '');

/** Analysis is reasoning, a message to a function a call, all else content; an empty line separates messages of a kind. */
function wanted({ messages }: Reply): Told[] {
  const result: Told[] = [];
  const seen = new Set<string>();
  for (const { channel, recipient, text } of messages) {
    if (recipient !== undefined) {
      result.push({ name: recipient.slice(NAMESPACE.length), arguments: text });
      continue;
    }
    const kind = channel === 'analysis' ? 'reasoning' : 'content';
    const line = (seen.has(kind) ? '\n\n' : '') + text;
    seen.add(kind);
    const last = result.at(-1) as Record<string, string> | undefined;
    if (last?.[kind] === undefined) result.push({ [kind]: line } as Told);
    else last[kind] += line;
  }
  return result;
}

describe.each(replies.map((reply, nth) => ({ nth, ...reply })))('the reply $nth in harmony', (reply) => {
  const parsed = (tokens: string[]): Told[] =>
    told(piecesOf(tokens, MARKS), formatOf('gpt-oss', null), { specialId: specials(MARKS) });

  it('is parsed as openai-harmony parses it', () => {
    expect(parsed(tokensOf(reply.text))).toEqual(wanted(reply));
  });

  it('is the same however its text is split', () => {
    const whole = parsed(tokensOf(reply.text));
    const letters = tokensOf(reply.text).flatMap((token) =>
      MARKS.includes(token) ? [token] : Array.from(token),
    );
    expect(parsed(letters)).toEqual(whole);
    for (let at = 1; at < letters.length; at++) {
      const [before, after] = [letters.slice(0, at), letters.slice(at)].map((part) =>
        tokensOf(part.join('')),
      );
      expect(parsed([...before!, ...after!])).toEqual(whole);
    }
  });
});
