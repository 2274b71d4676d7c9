// Grammar of a reply after its reasoning: calls in the model's format, an answer, or both.

import { complementOf, intersect, type Dfa } from '../../../grammar/automata/dfa.ts';
import { regexDfa } from '../../../grammar/automata/regex.ts';
import { choice, optional, regular, sequence, text, type Rule } from '../../../grammar/rules/rule.ts';
import { textWithout } from '../../../grammar/automata/marker-dfa.ts';
import type { SchemaMode } from '../../../grammar/text-constraint.ts';
import type { TextConstraint } from '../calls/text-request.ts';
import type { Tool } from '../calls/text-model.ts';
import { several, type PlacedTool, type SchemaRules } from './argument-rules.ts';
import { argumentsRule, bodyRule, lineBeforeEnd, markRules, type BodyContext } from './body-rules.ts';
import { beginningMembers } from './bodies.ts';
import { callOpeners } from './calls.ts';
import type { ChannelFormat, OutputFormat, ToolFormat } from './format.ts';
import type { ToolPlan } from './reply-plan.ts';

/** Description of a reply's grammar as plain data, from which the grammar is compiled. */
export interface ReplyGrammar {
  type: 'reply';
  format: OutputFormat;
  tools: ToolPlan;
  /** Tools of the request in order; messages name a tool by its index. */
  given: readonly Tool[];
  /** Constraint on the answer; null: any text. */
  answer: TextConstraint | null;
  /** Whether the reply begins within the answer. */
  answering: boolean;
  /** How the parameters of tools that do not say `strict` are read. */
  mode: SchemaMode;
  /** Ids of the special tokens in markers. */
  specials: Readonly<Record<string, number>>;
}

/** Compilers of the inner grammars: JSON of a schema, and the constraint of a request. */
export interface PartRules {
  schemas: SchemaRules;
  constraint(constraint: TextConstraint): Rule;
}

interface Context extends ReplyGrammar {
  schemas: SchemaRules;
  mark: (text: string) => Rule;
}

export function ruleOfReply(grammar: ReplyGrammar, parts: PartRules): Rule {
  const { tools, answer, format, specials } = grammar;
  const context = { ...grammar, schemas: parts.schemas, mark: markRules(specials) };
  const answers = answerRule(answer === null ? null : parts.constraint(answer), context);
  const { answering } = grammar;
  if (tools.mode === 'none' || (answering && tools.mode === 'auto' && answer !== null)) return answers;
  const calls = answering ? sequence(endOfAnswer(context), callsRule(context)) : callsRule(context);
  if (tools.mode === 'required') return calls;
  // In most formats a call without a marker is possible only at the start of a reply.
  const mayFollow = format.tools?.bare === undefined || format.tools.anywhere === true;
  const followed = answer === null && (answering || !format.channels) && mayFollow;
  return choice(calls, followed ? sequence(answers, optional(calls)) : answers);
}

/** Rule for the text between calls and an answer that has begun in the prompt. */
function endOfAnswer({ format: { channels, reasoning }, mark }: Context): Rule {
  if (channels) return mark(`${channels.end}${channels.start}assistant`);
  return optional(reasoning?.answer ? mark(reasoning.answer.end) : text('\n'));
}

/** Rule for the answer in its tags, which are optional except in channels. Without a constraint: any text that contains no call. */
function answerRule(answer: Rule | null, { format, answering, mark }: Context): Rule {
  const body = answer ?? regular(freeText(format.tools));
  const { channels, reasoning } = format;
  if (answering) return body;
  if (channels) return sequence(mark(`${channels.channel}${channels.answer}${channels.message}`), body);
  if (!reasoning?.answer) return body;
  return sequence(optional(mark(reasoning.answer.begin)), body, optional(mark(reasoning.answer.end)));
}

/** Texts in which no call begins. */
function freeText(format: ToolFormat | null): Dfa {
  const free = textWithout(format ? callOpeners(format) : []);
  if (!format?.bare) return free;
  const bare = regexDfa(`\\s*[${format.bare.replace(/[[\]]/g, '\\$&')}][^]*`, { whole: true });
  const answers = intersect(free, complementOf(bare));
  if (!format.anywhere) return answers;
  const begins = format.bodies.flatMap((body) => {
    if (body.kind === 'python') return ['\\[\\s*[\\w.-]+\\('];
    return body.kind === 'json' ? [`\\{\\s*"(${beginningMembers(body).join('|')})"`] : [];
  });
  const within = regexDfa(`[^]*(${begins.join('|')})[^]*`, { whole: true });
  return intersect(answers, complementOf(within));
}

function callsRule({ format, tools, given, schemas, mark }: Context): Rule {
  const placed = tools.tools.map((tool): PlacedTool => {
    return { tool, path: `tools.${given.indexOf(tool)}.function.parameters` };
  });
  if (format.channels) return channelCall(format.channels, placed, schemas, mark);
  return formatCalls(format.tools!, placed, tools.single, {
    format: format.tools!,
    mark,
    schemas,
  });
}

function formatCalls(
  { section, call, list, separators, bodies, bare, marked, lineBreaks }: ToolFormat,
  placed: readonly PlacedTool[],
  single: boolean,
  context: BodyContext,
): Rule {
  const [body] = bodies;
  const { mark } = context;
  const line = lineBreaks ? '\n' : '';
  const inner = lineBeforeEnd(body!, context.format);
  const one = choice(...placed.map((tool) => bodyRule(body!, tool, context)));
  const wrapped = call ? sequence(mark(call.begin + inner), one, mark(inner + call.end)) : one;
  if (list === 'must') {
    const calls = sequence(text('['), several(wrapped, text(', '), single), text(']'));
    return (bare === undefined || marked) && section
      ? sequence(mark(section.begin), calls, mark(section.end))
      : calls;
  }
  if (bare !== undefined) return several(wrapped, text(`${separators?.[0] ?? ','} `), single);
  if (section && section.end === '') return several(sequence(mark(section.begin), wrapped), text(''), single);
  const calls = several(wrapped, text(separators?.[0] ?? line), single);
  if (!section) return calls;
  const edge = call ? '' : line;
  return sequence(mark(section.begin + edge), calls, mark(edge + section.end));
}

/** Rule for a call in channels: the message is the arguments, and an end token ends it. */
function channelCall(
  { channel, calls, namespace, constrain, message }: ChannelFormat,
  placed: readonly PlacedTool[],
  schemas: SchemaRules,
  mark: (text: string) => Rule,
): Rule {
  return choice(
    ...placed.map((tool) =>
      sequence(
        mark(`${channel}${calls} to=${namespace}${tool.tool.function.name} ${constrain}json${message}`),
        argumentsRule(tool, schemas),
      ),
    ),
  );
}
