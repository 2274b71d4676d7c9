// Pairs of texts as tokens by the template of a checkpoint that judges documents.

import type { PairTemplate } from '../../files/template/pair-template.ts';
import type { Tokenizer } from '../../files/tokenizer/tokenizer.ts';
import type { InputTokens, TextEncoder } from './request-tokens.ts';

/** A pair that is too long loses the end of its document, since the template's own text tells the model what to do. */
export function templateEncoder(
  tokenizer: Pick<Tokenizer, 'encode' | 'decode'>,
  template: PairTemplate,
): TextEncoder {
  const plain = { addSpecialTokens: false };
  return {
    encode: (text, options) => tokenizer.encode(text, options),
    isInstructed: template.isInstructed,
    encodePair(query, given, most = Infinity, instruction?: string): InputTokens {
      for (let document = given; ;) {
        const ids = tokenizer.encode(template.write(query, document, instruction), plain);
        const over = ids.length - most;
        if (over <= 0 || document === '') return { ids };
        const own = tokenizer.encode(document, plain);
        const cut = tokenizer.decode(own.slice(0, Math.max(0, own.length - over)));
        // Tokens that are written differently when they are decoded cannot keep the loop from ending.
        document = cut.length < document.length ? cut : document.slice(0, -1);
      }
    },
  };
}
