// The front end of structural tags as a tree of formats (text-format.ts).

import { GrammarError, withParam } from './bounds/grammar-error.ts';
import type { TagFormat, TextFormat, TokenFormat, TriggeredTagsFormat } from './text-format.ts';
import { boundLength } from './automata/length-bound.ts';
import type { Limits } from './automata/dfa.ts';
import { ruleOfEbnf } from './ebnf/ebnf.ts';
import { regexDfa } from './automata/regex.ts';
import { choice, optional, regular, repeat, sequence, text, token, type Rule } from './rules/rule.ts';
import { ruleOfSchema, type SchemaReading } from './schema/schema-rule.ts';
import { textWithout } from './automata/marker-dfa.ts';
import { dispatchedText, restOfTag } from './structural-tag.ts';

interface Place {
  path: string;
  limits: Limits;
  /** How JSON Schemas are read; `any_order` of a format decides on the order instead. */
  reading: SchemaReading;
  /** Ends of the enclosing tag, which free text at the end of its content must not contain. */
  ends: readonly string[];
}

/** Throws bad_request whose `param` is the member at fault. */
export function ruleOfFormat(format: TextFormat, place: Place): Rule {
  const { path, limits, reading, ends } = place;
  const inside = (member: string, one: TextFormat, last = false): Rule =>
    ruleOfFormat(one, { path: `${path}.${member}`, limits, reading, ends: last ? ends : [] });
  switch (format.type) {
    case 'const_string':
      return text(format.value);
    case 'json_schema':
      return ruleOfSchema(format.json_schema, {
        path: `${path}.json_schema`,
        limits,
        reading: { ...reading, isOrdered: !(format.any_order ?? !reading.isOrdered) },
      });
    case 'any_text': {
      const free = textWithout([...(format.excludes ?? []), ...ends], limits);
      const { dfa, longest } = boundLength(free, format.max_chars ?? Infinity, limits);
      return regular(dfa, longest);
    }
    case 'regex':
      return withParam(`${path}.pattern`, () => regular(regexDfa(format.pattern, { whole: true, limits })));
    case 'grammar':
      return withParam(`${path}.grammar`, () => ruleOfEbnf(format.grammar));
    case 'token':
      return token(format.token);
    case 'sequence': {
      const last = format.elements.length - 1;
      return sequence(...format.elements.map((each, i) => inside(`elements.${i}`, each, i === last)));
    }
    case 'or':
      return choice(...format.elements.map((each, i) => inside(`elements.${i}`, each, true)));
    case 'optional':
      return optional(inside('content', format.content, true));
    case 'plus':
    case 'star':
      return repeat(inside('content', format.content), format.type === 'plus' ? 1 : 0);
    case 'repeat':
      return repeat(inside('content', format.content), format.min, mostOf(format, path));
    case 'tag':
      return sequence(edge(format.begin), contentOf(format, place), endOf(format));
    case 'triggered_tags':
      return triggeredTags(format, place);
    case 'tags_with_separator': {
      const tags = choice(...format.tags.map((tag, i) => inside(`tags.${i}`, tag)));
      const more = format.stop_after_first ? [] : [repeat(sequence(text(format.separator), tags), 0)];
      const all = sequence(tags, ...more);
      return format.at_least_one ? all : optional(all);
    }
    case 'dispatch': {
      const rules = format.rules.map(([trigger, each], i) => ({
        trigger,
        after: inside(`rules.${i}.1`, each),
      }));
      return dispatchedText(rules, {
        excludes: format.excludes ?? [],
        once: format.loop === false,
        bounds: limits,
      });
    }
  }
}

function triggeredTags(format: TriggeredTagsFormat, { path, limits, reading, ends }: Place): Rule {
  const { triggers, tags, at_least_one: needed, stop_after_first: once } = format;
  const inner = tags.map((tag, i) =>
    contentOf(tag, { path: `${path}.tags.${i}`, limits, reading, ends: [] }),
  );
  const whole = tags.map((tag, i) => sequence(edge(tag.begin), inner[i]!, endOf(tag)));
  if (needed && once) return choice(...whole);
  const rules = tags.map((tag, i) =>
    withParam(`${path}.tags.${i}.begin`, () => {
      const { trigger, left } = restOfTag(tag.begin as string, triggers);
      return { trigger, after: sequence(left, inner[i]!, endOf(tag)) };
    }),
  );
  const excludes = [...triggers, ...(format.excludes ?? []), ...ends];
  const free = dispatchedText(rules, { excludes, once: once === true, bounds: limits });
  return needed ? sequence(choice(...whole), free) : free;
}

function contentOf({ content, end }: TagFormat, { path, limits, reading }: Place): Rule {
  const ends = typeof end === 'string' ? [end] : Array.isArray(end) ? end : [];
  return ruleOfFormat(content, {
    path: `${path}.content`,
    limits,
    reading,
    ends: ends.includes('') ? [] : ends,
  });
}

function endOf({ end }: TagFormat): Rule {
  return Array.isArray(end) ? choice(...end.map(text)) : edge(end);
}

function edge(mark: string | TokenFormat): Rule {
  return typeof mark === 'string' ? text(mark) : token(mark.token);
}

function mostOf({ min, max }: { min: number; max: number }, path: string): number {
  if (max === -1) return Infinity;
  if (max >= min) return max;
  throw new GrammarError(
    'bad_request',
    `${path}.max is ${max}, below the ${min} of min: make it at least as large, or -1 for no bound`,
    { param: `${path}.max` },
  );
}
