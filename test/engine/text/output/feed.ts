// Feeds replies to a parser in pieces and merges the resulting parts.

import type { OutputFormat } from '../../../../src/engine/text/output/format.ts';
import type { OutputPart } from '../../../../src/engine/text/calls/output-parser.ts';
import type { OutputParserOptions } from '../../../../src/engine/text/output/parser-state.ts';
import { createOutputParser } from '../../../../src/engine/text/output/parser.ts';
import { REASONING_ALIASES, TOOL_ALIASES } from '../../../../src/engine/text/output/aliases.ts';
import { HARMONY, REASONING_FORMATS } from '../../../../src/engine/text/output/reasoning-formats.ts';
import { TOOL_FORMATS } from '../../../../src/engine/text/output/tool-formats.ts';
import { markerMaker } from '../../../../src/engine/text/output/reader.ts';
import type { Piece } from '../../../../src/engine/text/calls/piece.ts';
import type { Tool } from '../../../../src/engine/text/calls/text-model.ts';

export type Told =
  | { content: string }
  | { reasoning: string }
  | { name: string; arguments: string; id?: string };

export function formatOf(tools: string | null, reasoning: string | null): OutputFormat {
  if (tools === 'gpt-oss') return { tools: null, reasoning: null, channels: HARMONY };
  return {
    tools: (tools !== null && TOOL_FORMATS.get(TOOL_ALIASES[tools] ?? tools)) || null,
    reasoning:
      (reasoning !== null && REASONING_FORMATS.get(REASONING_ALIASES[reasoning] ?? reasoning)) || null,
    channels: null,
  };
}

const tool = (name: string, properties: Record<string, unknown>): Tool => ({
  type: 'function',
  function: { name, parameters: { type: 'object', properties } },
});

export const TOOLS: Tool[] = [
  tool('get_weather', {
    city: { type: 'string' },
    days: { type: 'integer' },
    metric: { type: 'boolean' },
    where: { type: 'object' },
    tags: { type: 'array', items: { type: 'string' } },
    note: { type: ['string', 'null'] },
  }),
  tool('search', { query: { type: 'string' }, limit: { type: 'number' } }),
  tool('ping', {}),
];

/** Special tokens by text; ids from 1000 on. */
export function specials(texts: readonly string[]): (text: string) => number | undefined {
  return (text) => (texts.includes(text) ? 1000 + texts.indexOf(text) : undefined);
}

/** `specialId`: returns the id of a special token by its text. */
export type FeedOptions = Partial<OutputParserOptions> & { specialId?: (text: string) => number | undefined };

export function parserOf(
  format: OutputFormat,
  { specialId = () => undefined, ...options }: FeedOptions = {},
) {
  let nth = 0;
  return createOutputParser(format, {
    tools: TOOLS,
    begins: 'undecided',
    separateReasoning: true,
    streamReasoning: true,
    singleCall: false,
    marker: markerMaker(specialId),
    callId: () => `call_${nth++}`,
    ...options,
  });
}

/** Pieces of a text that is cut at these indices; special tokens are separate pieces without visible text. */
export function piecesOf(texts: readonly string[], specialTexts: readonly string[] = []): Piece[] {
  return texts.map((text, at) => {
    const nth = specialTexts.indexOf(text);
    return nth < 0 ? { id: at, text, special: false } : { id: 1000 + nth, text: '', special: true };
  });
}

/** Merges adjacent parts of a kind and collects the ids. Throws if an id is in no part, or in two. */
export function told(pieces: readonly Piece[], format: OutputFormat, options: FeedOptions = {}): Told[] {
  const parser = parserOf(format, options);
  const parts: OutputPart[] = pieces.flatMap((piece) => parser.push(piece));
  parts.push(...parser.flush());
  const ids = parts.flatMap((part) => part.ids);
  if (ids.join() !== pieces.map(({ id }) => id).join()) throw new Error(`tokens told: ${ids.join()}`);
  return addUp(parts);
}

function addUp(parts: readonly OutputPart[]): Told[] {
  const result: Told[] = [];
  const calls = new Map<number, { name: string; arguments: string; id?: string }>();
  for (const part of parts) {
    const last = result.at(-1);
    if (part.kind === 'toolCall') {
      const call = calls.get(part.call);
      if (call) {
        if (part.name !== undefined || part.id !== undefined) throw new Error('a call is named twice');
        call.arguments += part.text;
        continue;
      }
      if (part.name === undefined || part.id === undefined) throw new Error('a call without a name');
      if (part.call !== calls.size) throw new Error('calls are not counted up');
      const made = {
        name: part.name,
        arguments: part.text,
        ...(part.id.startsWith('call_') ? {} : { id: part.id }),
      };
      calls.set(part.call, made);
      result.push(made);
    } else if (part.text === '') continue;
    else if (part.kind === 'content') {
      if (last && 'content' in last) last.content += part.text;
      else result.push({ content: part.text });
    } else if (last && 'reasoning' in last) last.reasoning += part.text;
    else result.push({ reasoning: part.text });
  }
  return result;
}
