// A model of random tokens, in whose vocabulary the markers of a format are special tokens or text.

import type { Constraint } from '../../../../src/engine/text/calls/constraint.ts';
import { ruleOfSource, type GrammarSource } from '../../../../src/engine/text/threads/grammar-source.ts';
import { createCallConstraint } from '../../../../src/engine/text/output/call-constraint.ts';
import { callSources } from '../../../../src/engine/text/output/reply-grammars.ts';
import type { OutputFormat } from '../../../../src/engine/text/output/format.ts';
import { markerMaker } from '../../../../src/engine/text/output/reader.ts';
import type { ReplyPlan } from '../../../../src/engine/text/output/reply-plan.ts';
import type { Piece, Pieces } from '../../../../src/engine/text/calls/piece.ts';
import type { Tool } from '../../../../src/engine/text/calls/text-model.ts';
import { compile } from '../../../../src/grammar/compile/compile.ts';
import { limits } from '../../../../src/grammar/automata/dfa.ts';
import { Grammar } from '../../../../src/grammar/grammar.ts';
import { idsOf, smallVocabulary } from '../../../grammar/small-vocabulary.ts';
import { parserOf, told } from './feed.ts';

/** Marks in a format that are longer than two characters and written apart from names. */
function markersOf(output: OutputFormat): string[] {
  const marks: string[] = [];
  const visit = (value: unknown): void => {
    if (typeof value === 'string') marks.push(value.trim());
    else if (typeof value === 'object' && value !== null) Object.values(value).forEach(visit);
  };
  visit(output);
  return [...new Set(marks)].filter((text) => text.length > 2 && /[<>[\]]/.test(text));
}

export const CLOSERS = ['"', '}', ']', ')', ',', '</', '0', '1'];

export function randomModel(output: OutputFormat, asSpecial: boolean, tools: readonly Tool[]) {
  const markers = markersOf(output);
  const texts = [...CLOSERS, ...(asSpecial ? [] : markers)];
  const vocabulary = smallVocabulary(texts, { specials: asSpecial ? markers.length : 0 });
  const specials = Object.fromEntries(
    (asSpecial ? markers : []).map((marker, i) => [marker, vocabulary.special + i]),
  );
  const marker = markerMaker((text) => specials[text]);
  const plan = {
    format: output,
    tools: { tools, mode: 'auto', single: false },
  } as unknown as ReplyPlan;
  const { sources, unenforced, ...all } = callSources(plan, { given: tools, mode: 'declared', specials });
  const compiled = (source: GrammarSource): Grammar =>
    new Grammar(compile(ruleOfSource(source, limits()), vocabulary.available, limits()), vocabulary);
  const names = compiled(all.names);
  const byTool = new Map([...sources].map(([key, source]) => [key, compiled(source)]));
  const options = { tools, specialId: (text: string) => specials[text] };
  const createPieces = (): Pieces => {
    const decoder = new TextDecoder();
    const special = (id: number): boolean => id >= vocabulary.special;
    const textOf = (id: number): string =>
      special(id) ? '' : decoder.decode(vocabulary.bytes(id, false), { stream: true });
    return {
      of: (id) => ({ id, text: textOf(id), special: special(id) }),
      bytes: (id) => vocabulary.bytes(id, false),
      ownText: textOf,
      rest: () => '',
    };
  };
  return {
    vocabulary,
    unenforced,
    names,
    byTool,
    start: (): Constraint =>
      createCallConstraint({
        names,
        anyObject: null,
        byTool,
        read: () => ({ output: parserOf(output, options), pieces: createPieces() }),
      }),
    idsOf: (text: string): number[] =>
      marker(text).symbols.flatMap((symbol) =>
        typeof symbol === 'number'
          ? [symbol]
          : Array.from(
              new TextEncoder().encode(symbol),
              (byte) => CLOSERS.length + (asSpecial ? 0 : markers.length) + byte,
            ),
      ),
    told: (ids: readonly number[]) => {
      const pieces = createPieces();
      return told(
        ids.map((id): Piece => pieces.of(id)),
        output,
        options,
      );
    },
  };
}

export type RandomModel = ReturnType<typeof randomModel>;

/** Ids of the tokens that may follow; null: all. */
export function allowed(calls: Constraint, { vocabulary }: RandomModel): number[] | null {
  const mask = new Uint32Array(Math.ceil(vocabulary.size / 32));
  return calls.mask(mask) ? idsOf(mask) : null;
}

/** Accepts a text, one token a byte or marker, and adds its ids. */
export function say(calls: Constraint, text: string, model: RandomModel, said: number[]): void {
  for (const id of model.idsOf(text)) {
    calls.accept(id);
    said.push(id);
  }
}
