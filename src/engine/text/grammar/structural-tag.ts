// Free text in which tagged regions may stand: where the text comes to a trigger it has to go on as one of the tags that begin so.

import { EngineError } from '../../../files/error.ts';
import { dfa, type Dfa } from './dfa.ts';
import { choice, regular, repeat, sequence, text, type Rule } from './rule.ts';

export interface Tag {
  begin: string;
  content: Rule;
  end: string;
}

/** Texts without any of the markers; all texts where there are none. */
export function textWithout(markers: readonly string[]): Dfa {
  return search(markers, null);
}

/** Texts whose first marker is `marker`, at their very end. */
function textUpTo(marker: string, markers: readonly string[] = [marker]): Dfa {
  return search(markers, marker);
}

/** What has to follow where a trigger stands in free text. */
export interface Dispatched {
  trigger: string;
  after: Rule;
}

/** Free text without `excludes`, and after each trigger what is to follow it. `once`: after the first, nothing more. */
export function dispatchedText(
  rules: readonly Dispatched[],
  { excludes = [], once = false }: { excludes?: readonly string[]; once?: boolean } = {},
): Rule {
  const markers = [...new Set([...rules.map(({ trigger }) => trigger), ...excludes])];
  const found = rules.map(({ trigger, after }) => sequence(regular(textUpTo(trigger, markers)), after));
  const free = regular(textWithout(markers));
  return once ? choice(free, ...found) : sequence(repeat(choice(...found), 0), free);
}

/** Text and tags in turn. */
export function taggedText(triggers: readonly string[], tags: readonly Tag[]): Rule {
  const rules = tags.map(({ begin, content, end }) => {
    const { trigger, left } = restOfTag(begin, triggers);
    return { trigger, after: sequence(left, content, text(end)) };
  });
  return dispatchedText(rules, { excludes: triggers });
}

/** The trigger a tag begins with, and what is left of its beginning. */
export function restOfTag(begin: string, triggers: readonly string[]): { trigger: string; left: Rule } {
  const trigger = triggers.find((each) => begin.startsWith(each));
  if (trigger === undefined || trigger === '') {
    throw new EngineError(
      'bad_request',
      `the tag ${JSON.stringify(begin)} begins with none of the triggers ${JSON.stringify(triggers)}: add one that it begins with`,
    );
  }
  return { trigger, left: text(begin.slice(trigger.length)) };
}

/** Reads on until a marker is complete: the states are the beginnings of markers, as Aho and Corasick have them. */
function search(markers: readonly string[], wanted: string | null): Dfa {
  const letters = [...new Set(markers.flatMap((marker) => Array.from(marker)))].toSorted(
    (a, b) => a.codePointAt(0)! - b.codePointAt(0)!,
  );
  const beginnings = ['', ...new Set(markers.flatMap((marker) => prefixes(marker)))];
  const isWhole = (read: string): boolean => markers.some((marker) => read.endsWith(marker));
  const numbers = new Map(beginnings.map((beginning, i) => [beginning, i]));
  const found = beginnings.length; // a state of its own: after it there is nothing
  const next: number[] = [];
  for (const beginning of beginnings) {
    next.push(0); // any other character
    for (const letter of letters) {
      const read = beginning + letter;
      if (isWhole(read)) next.push(wanted !== null && read.endsWith(wanted) ? found : -1);
      else next.push(numbers.get(suffixes(read).find((suffix) => numbers.has(suffix)) ?? '')!);
    }
  }
  for (let i = 0; i <= letters.length; i++) next.push(-1);
  const codes = letters.map((letter) => letter.codePointAt(0)!);
  const starts = [...new Set([0, 0xd800, 0xe000, ...codes, ...codes.map((code) => code + 1)])].toSorted(
    (a, b) => a - b,
  );
  const none = 0xffff;
  const classes = starts.map((start) => {
    if (start >= 0xd800 && start < 0xe000) return none;
    return codes.indexOf(start) + 1;
  });
  const accept = [...beginnings.map(() => wanted === null), wanted !== null];
  return dfa({ starts, classes, classCount: letters.length + 1, next, accept });
}

function prefixes(marker: string): string[] {
  const characters = Array.from(marker);
  return characters.slice(1).map((_, i) => characters.slice(0, i + 1).join(''));
}

/** The text itself, then shorter and shorter ends of it. */
function suffixes(read: string): string[] {
  const characters = Array.from(read);
  return characters.map((_, i) => characters.slice(i).join(''));
}
