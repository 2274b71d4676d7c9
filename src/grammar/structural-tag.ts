// Free text in which tagged regions may stand: where the text comes to a trigger it has to go on as one of the tags that begin so.

import { EngineError } from '../files/error.ts';
import { checkLimits, dfa, limits, NO_CLASS, type Dfa, type Limits } from './dfa.ts';
import { choice, regular, repeat, sequence, text, type Rule } from './rule.ts';

export interface Tag {
  begin: string;
  content: Rule;
  end: string;
}

/** Texts without any of the markers; all texts where there are none. */
export function textWithout(markers: readonly string[], bounds: Limits = limits()): Dfa {
  return search(markers, null, bounds);
}

/** Texts whose first marker is `marker`, at their very end. */
function textUpTo(marker: string, markers: readonly string[], bounds: Limits): Dfa {
  return search(markers, marker, bounds);
}

/** What has to follow where a trigger stands in free text. */
export interface Dispatched {
  trigger: string;
  after: Rule;
}

/** Free text without `excludes`, and after each trigger what is to follow it. `once`: after the first, nothing more. */
export function dispatchedText(
  rules: readonly Dispatched[],
  {
    excludes = [],
    once = false,
    bounds = limits(),
  }: { excludes?: readonly string[]; once?: boolean; bounds?: Limits } = {},
): Rule {
  const markers = [...new Set([...rules.map(({ trigger }) => trigger), ...excludes])];
  const afters = new Map<string, Rule[]>();
  for (const { trigger, after } of rules) {
    const list = afters.get(trigger);
    if (list) list.push(after);
    else afters.set(trigger, [after]);
  }
  const found = [...afters].map(([trigger, list]) =>
    sequence(regular(textUpTo(trigger, markers, bounds)), list.length === 1 ? list[0]! : choice(...list)),
  );
  const free = regular(textWithout(markers, bounds));
  return once ? choice(free, ...found) : sequence(repeat(choice(...found), 0), free);
}

/** Text and tags in turn. */
export function taggedText(
  triggers: readonly string[],
  tags: readonly Tag[],
  bounds: Limits = limits(),
): Rule {
  const rules = tags.map(({ begin, content, end }) => {
    const { trigger, left } = restOfTag(begin, triggers);
    return { trigger, after: sequence(left, content, text(end)) };
  });
  return dispatchedText(rules, { excludes: triggers, bounds });
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
function search(markers: readonly string[], wanted: string | null, bounds: Limits): Dfa {
  const words = markers.map((marker) => Array.from(marker, (letter) => letter.codePointAt(0)!));
  const codes = [...new Set(words.flat())].toSorted((a, b) => a - b);
  const classOf = new Map(codes.map((code, i) => [code, i + 1]));
  const width = codes.length + 1; // class 0 is any other character
  // A tree of the markers first: -1 where nothing is below.
  const next: number[] = new Array<number>(width).fill(-1);
  const marks: Mark[] = ['none'];
  words.forEach((word, i) => {
    let node = 0;
    for (const code of word) {
      const cell = node * width + classOf.get(code)!;
      if (next[cell]! < 0) {
        next[cell] = marks.push('none') - 1;
        checkLimits(bounds, marks.length, width);
        for (let c = 0; c < width; c++) next.push(-1);
      }
      node = next[cell]!;
    }
    if (marks[node] !== 'wanted') marks[node] = markers[i] === wanted ? 'wanted' : 'marker';
  });
  // Then, level by level, each node goes on where the longest end of it that is a node does.
  const back = new Int32Array(marks.length);
  const queue = [0];
  for (let at = 0; at < queue.length; at++) {
    const node = queue[at]!;
    for (let c = 0; c < width; c++) {
      const cell = node * width + c;
      const past = node === 0 ? 0 : next[back[node]! * width + c]!;
      const below = next[cell]!;
      if (below < 0) {
        next[cell] = past;
        continue;
      }
      back[below] = past;
      if (marks[past] === 'wanted' || marks[below] === 'none') marks[below] = marks[past]!;
      queue.push(below);
    }
  }
  const found = marks.length; // a state of its own: after it there is nothing
  const ends: Record<Mark, (node: number) => number> = {
    none: (node) => node,
    marker: () => -1,
    wanted: () => found,
  };
  const table = next.map((to) => ends[marks[to]!](to));
  for (let c = 0; c < width; c++) table.push(-1);
  const starts = [...new Set([0, 0xd800, 0xe000, ...codes, ...codes.map((code) => code + 1)])].toSorted(
    (a, b) => a - b,
  );
  const classes = starts.map((start) =>
    start >= 0xd800 && start < 0xe000 ? NO_CLASS : (classOf.get(start) ?? 0),
  );
  const accept = [...marks.map(() => wanted === null), wanted !== null];
  return dfa({ starts, classes, classCount: width, next: table, accept }, bounds);
}

/** Whether a marker ends at a node of the tree. */
type Mark = 'none' | 'marker' | 'wanted';
