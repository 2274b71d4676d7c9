// Templates by which a model that judges documents reads a pair: a conversation of the roles `query` and `document`, as sentence-transformers
// and vLLM have it.

import { badCheckpoint, EngineError, reasonOf } from '../error.ts';
import type { SpecialTokens } from '../tokenizer/encode/special-tokens.ts';
import { JinjaTemplate } from './jinja/jinja.ts';
import type { ChatTemplates } from './template.ts';

export interface PairTemplate {
  /** A query and a document as the model reads them; `instruction`: what to judge by, in place of the one of the model. */
  write(query: string, document: string, instruction?: string): string;
  /** Whether the template has a place for an instruction. */
  isInstructed: boolean;
}

/**
 * null: the checkpoint has no such template, and its tokenizer joins pairs. `usual`: the instruction of the model, which stands in a message of the role
 * `system`. Throws bad_checkpoint for a broken one.
 */
export function openPairTemplate(
  templates: ChatTemplates | null,
  specials: SpecialTokens,
  usual: string | null = null,
): PairTemplate | null {
  const { default: source, rerank } = templates ?? {};
  if (rerank?.includes('{query}') && rerank.includes('{document}')) return placedPair(rerank);
  if (source === undefined || !['query', 'document'].every((role) => readsRole(source, role))) return null;
  const template = openTemplate(source);
  return {
    write(query, document, instruction = usual ?? undefined) {
      const messages = [
        ...(instruction === undefined ? [] : [{ role: 'system', content: instruction }]),
        { role: 'query', content: query },
        { role: 'document', content: document },
      ];
      return orBroken(() => template.render({ ...specials, messages, add_generation_prompt: true }));
    },
    isInstructed: readsRole(source, 'system'),
  };
}

/** The template of GGUF files, a text with places for the two. */
const placedPair = (source: string): PairTemplate => ({
  write: (query, document) =>
    source.replace(/\{(query|document)\}/g, (_, place) => (place === 'query' ? query : document)),
  isInstructed: false,
});

export const openTemplate = (source: string): JinjaTemplate =>
  orBroken(() => new JinjaTemplate(source, 'chat_template'));

export function orBroken<T>(action: () => T): T {
  try {
    return action();
  } catch (cause) {
    if (cause instanceof EngineError) throw cause;
    throw badCheckpoint(
      `chat_template: no pair can be written by it (${reasonOf(cause)}): fetch the published file again`,
      'chat_template',
      cause,
    );
  }
}

const readsRole = (source: string, role: string): boolean =>
  source.includes(`'${role}'`) || source.includes(`"${role}"`);
