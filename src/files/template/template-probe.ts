// Finds the forms of messages that a template takes, by rendering one of each form and looking for its text. A template that exceeds the limits of such a
// small conversation is not opened.

import { EngineError } from '../error.ts';
import type { SpecialTokens } from '../tokenizer/encode/special-tokens.ts';
import type { JinjaTemplate } from './jinja/jinja.ts';
import { PROBE_LIMITS } from './jinja/values/meter.ts';
import type { TemplateTraits } from './template-messages.ts';
import { namedRoles } from './template-roles.ts';

export interface Probed {
  traits: TemplateTraits;
  /** Variables of every rendering. */
  usual: Record<string, unknown>;
}

const PROBE = 'probeprobe';
const ARGUMENT = 'argumentprobe';

/**
 * The reference implementation passes None for tools and documents that are not there; a template that fails on None gets empty lists.
 * Throws EngineError beyond the limits.
 */
export function probeTemplate(template: JinjaTemplate, specials: SpecialTokens): Probed {
  const probe = (variables: Record<string, unknown>, content: unknown): string | null => {
    const text = rendered(template, { ...variables, messages: [{ role: 'user', content }] });
    return text?.includes(PROBE) ? text : null;
  };
  const nones = { ...specials, tools: null, documents: null };
  const empty = { ...specials, tools: [], documents: [] };
  const parts = [{ type: 'text', text: PROBE }];
  const usual =
    [nones, empty].find((variables) => probe(variables, PROBE) ?? probe(variables, parts)) ?? nones;
  const asText = probe(usual, PROBE);
  const asParts = probe(usual, parts);
  // A template that prints a list of parts literally, with brackets, does not accept parts.
  const takesParts = asParts !== null && (asText === null || asText === asParts);
  const takesText = asText !== null || !takesParts;
  const traits = { roles: namedRoles(template.syntax), takesText, takesParts };
  return { traits: { ...traits, ...callTraits(template, usual) }, usual };
}

/** Returns null if the template throws. */
function rendered(template: JinjaTemplate, variables: Record<string, unknown>): string | null {
  try {
    return template.render({ ...variables, add_generation_prompt: false }, { limits: PROBE_LIMITS });
  } catch (error) {
    if (error instanceof EngineError) throw error;
    return null;
  }
}

type CallTraits = Required<
  Pick<TemplateTraits, 'argumentsAsText' | 'noContentWithCalls' | 'dropsCalls' | 'shortIds'>
>;

interface CallForm {
  arguments: unknown;
  content: string | null;
  id?: string;
  tools?: readonly object[];
}

/** The text that Python's json.dumps makes of the object. */
const OBJECT = { [ARGUMENT]: 1 };
const TEXT = `{"${ARGUMENT}": 1}`;

/**
 * Determines how calls are passed. Arguments stay text if the template prints both forms alike, or prints only text. A template
 * that renders calls only if the content is None requires that. One that prints no arguments, with or without tools, ignores calls.
 * One that refuses a long id requires short ones.
 */
function callTraits(template: JinjaTemplate, usual: Record<string, unknown>): CallTraits {
  const show = ({ arguments: given, content, id = '123456789', tools }: CallForm): string | null => {
    const call = { id, type: 'function', function: { name: PROBE, arguments: given } };
    const messages = [
      { role: 'user', content: PROBE },
      { role: 'assistant', content, tool_calls: [call] },
    ];
    return rendered(template, { ...usual, ...(tools && { tools }), messages });
  };
  const shows = (text: string | null): boolean => text?.includes(ARGUMENT) === true;
  let renders = false;
  for (const content of ['', null]) {
    const asObject = show({ arguments: OBJECT, content });
    const asText = show({ arguments: TEXT, content });
    renders ||= asObject !== null || asText !== null;
    if (!shows(asObject) && !shows(asText)) continue;
    const argumentsAsText = shows(asText) && (!shows(asObject) || asObject === asText);
    const given = argumentsAsText ? TEXT : OBJECT;
    const shortIds = !shows(show({ arguments: given, content, id: 'call_of_another_length' }));
    return { argumentsAsText, noContentWithCalls: content === null, dropsCalls: false, shortIds };
  }
  const tools = [{ type: 'function', function: { name: PROBE, description: PROBE, parameters: {} } }];
  const withTools = ['', null].some((content) =>
    [OBJECT, TEXT].some((given) => shows(show({ arguments: given, content, tools }))),
  );
  return {
    argumentsAsText: false,
    noContentWithCalls: false,
    dropsCalls: !withTools && renders,
    shortIds: false,
  };
}
