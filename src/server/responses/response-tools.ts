// Converts the tools of a response to functions, the only kind that models know: a free-form tool takes its text as one string,
// constrained by its grammar; a tool of a namespace has the namespace in its name. Calls are converted back to the tools that the
// client sent.

import { fieldError, RequestError } from '../http/errors.ts';
import { withoutMissing } from '../body/fields.ts';
import { GrammarError } from '../../grammar/bounds/grammar-error.ts';
import { larkToRegex, regexToRegex } from '../../grammar/lark/lark.ts';
import type { Renames } from '../body/renamed.ts';
import type { InputItem } from './response-items.ts';
import type { CheckedTool, ChosenTool, RequestTool, ToolChoiceBody, ToolOf } from './response-tool-schema.ts';

export interface OfferedTool {
  kind: 'function' | 'custom' | 'tool_search';
  /** Name under which the client knows the tool. */
  called: { name: string; namespace?: string };
  /** The tool as a function of a chat completion. */
  definition: { name: string; description?: string; parameters?: object; strict?: boolean };
  /** Path of the tool in the request. */
  place: string;
}

export const TOOL_SEARCH = 'tool_search';
/** OpenAI runs this tool itself, and Codex sends it to every server by default. It is accepted but not offered to models. */
export const NOT_OFFERED = 'web_search';

/** The name by which a model knows a tool. */
export function nameOf({ name, namespace }: { name: string; namespace?: string | null | undefined }): string {
  return namespace == null ? name : `${namespace}__${name}`;
}

/** The names by which a model knows the tools of a list. */
export const functionNames = (tools: readonly RequestTool[]): string[] =>
  offersOf(tools, '').map(({ definition }) => definition.name);

/**
 * Tools of the request and of its conversation, where a later tool replaces one of equal name. `kept`: items
 * that came before the request. Throws RequestError for a grammar that cannot be enforced.
 */
export function offerTools(
  tools: readonly RequestTool[],
  items: readonly InputItem[],
  kept: number,
): OfferedTool[] {
  const own = offersOf(tools, 'tools');
  const told = items.flatMap((item, at) =>
    item.type === 'additional_tools' || item.type === 'tool_search_output'
      ? offersOf(item['tools'] as RequestTool[], `input.${at - kept}.tools`)
      : [],
  );
  const last = new Map(told.map((tool) => [tool.definition.name, tool]));
  return [...own.filter(({ definition }) => !last.has(definition.name)), ...last.values()];
}

function offersOf(tools: readonly RequestTool[], place: string): OfferedTool[] {
  return tools.flatMap((tool, at) => offerOf(tool as CheckedTool, `${place}.${at}`));
}

function offerOf(tool: CheckedTool, place: string): OfferedTool[] {
  switch (tool.type) {
    case 'function':
      return [functionOffer(tool, place)];
    case 'custom':
      return [customOffer(tool, place)];
    case 'namespace':
      return namespaceOffers(tool, place);
    case 'tool_search': {
      const { description, parameters } = tool;
      const definition = withoutNulls({ name: TOOL_SEARCH, description, parameters });
      return [{ kind: 'tool_search', called: { name: TOOL_SEARCH }, definition, place }];
    }
    case 'web_search':
      return [];
  }
}

function functionOffer(
  { name, description, parameters, strict }: ToolOf<'function'>,
  place: string,
): OfferedTool {
  const definition = withoutNulls({ name, description, parameters, strict });
  return { kind: 'function', called: { name }, definition, place };
}

function customOffer({ name, description, format }: ToolOf<'custom'>, place: string): OfferedTool {
  const pattern = patternOf(format, `${place}.format.definition`);
  const parameters = {
    type: 'object',
    properties: { input: withoutMissing({ type: 'string', pattern }) },
    required: ['input'],
    additionalProperties: false,
  };
  const definition = withoutNulls({ name, description, parameters, strict: true });
  return { kind: 'custom', called: { name }, definition, place };
}

function patternOf(format: ToolOf<'custom'>['format'], param: string): string | undefined {
  const { type, syntax, definition = '' } = format ?? {};
  if (type !== 'grammar') return undefined;
  try {
    if (syntax === 'lark') return `^(?:${larkToRegex(definition, param)})$`;
    return `^${regexToRegex(definition, param)}$`;
  } catch (error) {
    if (!(error instanceof GrammarError)) throw error;
    throw new RequestError(error.code, error.message, { param });
  }
}

/** The description of the namespace is added to its first tool. */
function namespaceOffers({ name: namespace, description: about, tools }: ToolOf<'namespace'>, place: string) {
  return offersOf(tools, `${place}.tools`).map(
    ({ kind, called, definition, place: own }, at): OfferedTool => {
      const { description } = definition;
      const told =
        at === 0 && about ? { description: `${namespace}: ${about}\n\n${description ?? ''}`.trim() } : {};
      const full = { ...called, namespace };
      return { kind, called: full, definition: { ...definition, ...told, name: nameOf(full) }, place: own };
    },
  );
}

function withoutNulls<T extends object>(values: T) {
  const present = Object.entries(values).filter(([, value]) => value != null);
  return Object.fromEntries(present) as { [K in keyof T]: NonNullable<T[K]> };
}

/** Returns the paths of the tools that are not offered to models. Throws RequestError if the server is strict. */
export function notOffered(tools: readonly RequestTool[], strict = false): string[] {
  const places = tools.flatMap(({ type }, at) => (type === NOT_OFFERED ? [`tools.${at}`] : []));
  const [param] = places;
  if (!strict || param === undefined) return places;
  throw fieldError(
    param,
    `is ${NOT_OFFERED}, which this server does not have; leave it out (Codex: ${NOT_OFFERED} = "disabled" in config.toml), or start the server without --strict`,
    'unsupported',
  );
}

/** Converts tool_choice to that of a chat completion. */
export function chooseTool(choice: ToolChoiceBody | undefined, offered: readonly OfferedTool[]): unknown {
  if (typeof choice !== 'object') return choice;
  const named = (tool: ChosenTool) => ({ type: 'function', function: { name: chosenName(tool, offered) } });
  if (choice.type !== 'allowed_tools') return named(choice);
  return { type: 'allowed_tools', allowed_tools: { mode: choice.mode, tools: choice.tools.map(named) } };
}

/** Resolves a chosen tool's name. Its namespace may be left out if only one tool has that name. */
function chosenName(tool: ChosenTool, offered: readonly OfferedTool[]): string {
  const { type, name, namespace } = tool;
  const named = offered.filter(({ kind, called }) => kind === type && called.name === name);
  const fits = named.filter(({ called }) => called.namespace === (namespace ?? undefined));
  const [found] = fits.length === 0 && namespace == null && named.length === 1 ? named : fits;
  return found?.definition.name ?? nameOf(tool);
}

/** Paths of the chat completion's tools → their paths in the request. */
export function toolNames(offered: readonly OfferedTool[]): Renames {
  return offered.flatMap(({ kind, place }, at) => [
    ...(kind === 'custom'
      ? [[`tools.${at}.function.parameters.**`, `${place}.format.definition`] as const]
      : []),
    [`tools.${at}.function`, place] as const,
  ]);
}
