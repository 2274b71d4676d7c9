// A pair that a language model is asked about by a conversation of its own chat template, in the words of Qwen3-Reranker's model card.

import type { SpecialTokens } from '../tokenizer/encode/special-tokens.ts';
import { openTemplate, orBroken, type PairTemplate } from './pair-template.ts';

export const INSTRUCTION = 'Given a web search query, retrieve relevant passages that answer the query';
const SYSTEM =
  'Judge whether the Document meets the requirements based on the Query and the Instruct provided. Note that the answer can only be "yes" or "no".';

/** The answer would follow what is written. Throws bad_checkpoint for a broken template. */
export function answeredPair(source: string, specials: SpecialTokens): PairTemplate {
  const template = openTemplate(source);
  return {
    write(query, document, instruction = INSTRUCTION) {
      const content = `<Instruct>: ${instruction}\n<Query>: ${query}\n<Document>: ${document}`;
      const messages = [
        { role: 'system', content: SYSTEM },
        { role: 'user', content },
      ];
      const values = { messages, add_generation_prompt: true, enable_thinking: false };
      return orBroken(() => template.render({ ...specials, ...values }));
    },
    isInstructed: true,
  };
}
