// The language that a source is read as: some tokenizers put its token before every text. A text that begins with the token of another language has
// that in its place.

import type { Tokenizer } from '../../../files/tokenizer/tokenizer.ts';

type Reads = Pick<Tokenizer, 'encode' | 'decode' | 'eosId' | 'specials' | 'tokenText'>;

/** The token of a language that the tokenizer puts before every text; null: it puts none there. */
function usualLanguage(tokenizer: Reads): number | null {
  const { eosId, specials } = tokenizer;
  const around = tokenizer.encode('');
  const [first] = around;
  if (first === undefined || around.length < 2 || first === eosId) return null;
  const text = tokenizer.tokenText(first);
  return text === specials['bos_token'] || text === specials['cls_token'] ? null : first;
}

/** The tokens of a source without the usual language, where its text begins with a language's token. */
export function withOwnLanguage(ids: number[], tokenizer: Reads): number[] {
  const [first, second] = ids;
  if (second === undefined || first !== usualLanguage(tokenizer)) return ids;
  const isSpecial = tokenizer.decode([second], { skipSpecialTokens: true }) === '';
  const text = tokenizer.tokenText(second);
  // Ends, masks and unknown texts are special tokens, too, and name no language.
  const hasRole =
    second === tokenizer.eosId || text === '' || Object.values(tokenizer.specials).includes(text);
  return isSpecial && !hasRole ? ids.slice(1) : ids;
}

/** A note about the language that texts are read as; null: the tokenizer names none. */
export function languageNote(tokenizer: Reads): string | null {
  const usual = usualLanguage(tokenizer);
  if (usual === null) return null;
  return `texts are read as ${tokenizer.tokenText(usual)}, which the tokenizer puts before them: begin a text with another language's token where it is in that`;
}
