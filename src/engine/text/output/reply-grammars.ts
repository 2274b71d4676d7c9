// Sources of the grammars that restrict a reply: of the whole reply, where its form is prescribed, or of its optional tool calls.

import type { Tokenizer } from '../../../files/tokenizer/tokenizer.ts';
import type { SchemaMode, TextConstraint } from '../../../grammar/text-constraint.ts';
import type { TextPrompt, TextRequest, Tool, UnenforcedKeyword } from '../calls/text-model.ts';
import { openingKeyword, restrictsValues } from './argument-rules.ts';
import { argumentsKey } from './call-constraint.ts';
import type { ArgumentsGrammar } from './body-rules.ts';
import type { NamesGrammar } from './name-rule.ts';
import type { Begins, OutputFormat } from './format.ts';
import type { ArgumentSyntax } from '../calls/output-parser.ts';
import type { ReplyContext, ReplyPlan } from './reply-plan.ts';
import type { ReplyGrammar } from './reply-rule.ts';

/** The grammar of a reply; null: none is needed. Without calls and tags it is the constraint of the request itself. */
export function grammarOfReply(
  { constraint, prompt }: TextRequest,
  { format, tools }: ReplyPlan,
  begins: Begins,
  { tokenizer, jsonSchemaMode: mode }: ReplyContext & { jsonSchemaMode: SchemaMode },
): TextConstraint | ReplyGrammar | null {
  const answer = constraint ?? null;
  const strict = tools.tools.some((tool) => tool.function.strict);
  if (answer === null && tools.mode !== 'required' && !strict) return null;
  const answering = begins === 'answer';
  if (answer !== null && tools.mode === 'none' && !hasTags(format)) return answer;
  return {
    type: 'reply',
    format,
    tools,
    given: toolsOf(prompt),
    answer,
    answering,
    mode,
    specials: specialsIn(format, tokenizer),
  };
}

export function toolsOf(prompt: TextPrompt): readonly Tool[] {
  return ('tools' in prompt && prompt.tools) || [];
}

/** Ids of the special tokens in the markers of a format, by text. */
export function specialsIn(format: OutputFormat, tokenizer: Tokenizer): Record<string, number> {
  const texts = JSON.stringify(format);
  const ids = [...tokenizer.specialIds].map((id) => [tokenizer.tokenText(id), id] as const);
  return Object.fromEntries(ids.filter(([text]) => texts.includes(JSON.stringify(text).slice(1, -1))));
}

function hasTags({ channels, reasoning }: ReplyPlan['format']): boolean {
  return channels !== null || reasoning?.answer !== undefined;
}

export interface CallSources {
  /** Source of the grammar for the beginning of a call, up to the end of the tool's name. */
  names: NamesGrammar;
  /** By argumentsKey. */
  sources: Map<string, ArgumentsGrammar>;
  /** Keywords for which parameters have no grammar. */
  unenforced: UnenforcedKeyword[];
}

export interface CallSourceContext {
  /** Tools of the request in order; messages name a tool by its index. */
  given: readonly Tool[];
  /** How the parameters of tools that do not say `strict` are read. */
  mode: SchemaMode;
  specials: Readonly<Record<string, number>>;
}

/** Syntaxes in which calls write their arguments; none: calls are required, whose grammar is that of the reply, or there are no tools. */
export function callSyntaxes({ tools, format }: ReplyPlan): ArgumentSyntax[] {
  return tools.mode === 'auto' ? syntaxesOf(format) : [];
}

function syntaxesOf({ tools, channels }: OutputFormat): ArgumentSyntax[] {
  const syntaxes = (tools?.bodies ?? []).map(({ kind }) => (kind === 'named' ? 'json' : kind));
  return [...new Set<ArgumentSyntax>(channels ? ['json'] : syntaxes)];
}

/** Sources of the grammars of optional calls. Tools without parameters, and those with `strict` false, have none: their arguments are free. */
export function callSources(plan: ReplyPlan, context: CallSourceContext): CallSources {
  const { specials } = context;
  const all = plan.tools.tools.map(({ function: { name } }) => name);
  const names: NamesGrammar = { type: 'names', format: plan.format, names: all, specials };
  const found: CallSources = { names, sources: new Map(), unenforced: [] };
  const tools = plan.tools.tools.filter(
    ({ function: { parameters, strict } }) => parameters !== undefined && strict !== false,
  );
  for (const syntax of callSyntaxes(plan)) {
    for (const tool of tools) addSource(found, tool, syntax, plan, context);
  }
  return found;
}

function addSource(
  { sources, unenforced }: CallSources,
  tool: Tool,
  syntax: ArgumentSyntax,
  { format }: ReplyPlan,
  { given, mode, specials }: CallSourceContext,
): void {
  const { name, parameters = {}, strict } = tool.function;
  const keyword = syntax === 'json' ? null : openingKeyword(parameters, mode === 'declared');
  if (keyword !== null) {
    const { type: _, ...rest } = parameters;
    if (restrictsValues(rest)) unenforced.push({ tool: name, pointer: '', keyword });
    return;
  }
  sources.set(argumentsKey({ syntax, tool: name }), {
    type: 'arguments',
    tool: {
      type: 'function',
      function: { name, parameters, ...(strict !== undefined && { strict }) },
    },
    path: `tools.${given.indexOf(tool)}.function.parameters`,
    format: syntax === 'json' ? null : format.tools,
    syntax,
    mode,
    specials: syntax === 'json' ? {} : specials,
  });
}
