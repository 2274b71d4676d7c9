// Structural tags: free text with tagged regions. After a trigger the text must continue as one of the tags that begin with it.

import { GrammarError } from './bounds/grammar-error.ts';
import { limits, type Limits } from './automata/dfa.ts';
import { textUpTo, textWithout } from './automata/marker-dfa.ts';
import { choice, regular, repeat, sequence, text, type Rule } from './rules/rule.ts';

export interface Tag {
  begin: string;
  content: Rule;
  end: string;
}

/** The rule that must follow a trigger in free text. */
export interface Dispatched {
  trigger: string;
  after: Rule;
}

/** Free text without `excludes`, in which its rule follows each trigger. `once`: the text ends after the first of those rules. */
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

/** Free text with tags in it, each of which begins with one of the triggers. */
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

/** The trigger that a tag begins with, and the rest of its beginning as a rule. Throws bad_request where it begins with none. */
export function restOfTag(begin: string, triggers: readonly string[]): { trigger: string; left: Rule } {
  const trigger = triggers.find((each) => begin.startsWith(each));
  if (trigger === undefined || trigger === '') {
    throw new GrammarError(
      'bad_request',
      `the tag ${JSON.stringify(begin)} begins with none of the triggers ${JSON.stringify(triggers)}: add one that it begins with`,
    );
  }
  return { trigger, left: text(begin.slice(trigger.length)) };
}
