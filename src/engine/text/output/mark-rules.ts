// Rules of the markers of output formats: plain text, and special tokens by their ids.

import { sequence, text, token, type Rule } from '../../../grammar/rules/rule.ts';
import { markerMaker } from './reader.ts';

/** `specials`: ids of special tokens by text. */
export function markRules(specials: Readonly<Record<string, number>>): (marker: string) => Rule {
  const marker = markerMaker((one) => specials[one]);
  return (whole) => {
    const rules: Rule[] = [];
    let plain = '';
    for (const symbol of [...marker(whole).symbols, null]) {
      if (typeof symbol === 'string') plain += symbol;
      else {
        if (plain !== '') rules.push(text(plain));
        plain = '';
        if (symbol !== null) rules.push(token(symbol));
      }
    }
    return rules.length === 1 ? rules[0]! : sequence(...rules);
  };
}
