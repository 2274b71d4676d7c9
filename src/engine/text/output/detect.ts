// Detects the tool call and reasoning formats of a model from markers in its chat template, and from the tokens of its
// vocabulary if no marker of the template is known. The first matching rule decides.

import { badRequest } from '../../../files/error.ts';
import type { OutputFormat, ReasoningFormat, ToolFormat } from './format.ts';
import { REASONING_ALIASES, TOOL_ALIASES } from './aliases.ts';
import { HARMONY, REASONING_FORMATS as REASONING_TABLE } from './reasoning-formats.ts';
import { TOOL_FORMATS } from './tool-formats.ts';

/** Tells a format by marks of the models that have it. */
export interface FormatRule {
  format: string;
  /** Texts that the template must contain; of an inner list, at least one. */
  template?: readonly (string | readonly string[])[];
  /** Texts that the template must not contain. */
  without?: readonly string[];
  /** Texts that must be tokens of the vocabulary. */
  tokens?: readonly string[];
}

const HARMONY_MARKS = { template: ['<|channel|>', '<|message|>'] };

const TOOLS: readonly FormatRule[] = [
  { format: 'gpt-oss', ...HARMONY_MARKS },
  { format: 'deepseek_v32', template: ['｜DSML｜', 'function_calls>'] },
  { format: 'deepseek_v41', template: ['｜DSML｜', ' calls>'] },
  { format: 'deepseek_v4', template: ['｜DSML｜'] },
  { format: 'gigachat35', template: ['｜GCML｜'] },
  { format: 'minimax_m3', template: [']<]minimax[>['] },
  { format: 'kimi_k3', template: ['<|open|>', '<|sep|>'] },
  { format: 'plamo3', template: [['plamo:begin_tool_requests', '<|plamo:begin_']] },
  { format: 'inkling', template: ['<|content_invoke_tool_json|>'] },
  { format: 'iquest_q1', template: ['<iquest_tool_call>'] },
  { format: 'seed_oss', template: ['seed:tool_call'] },
  { format: 'minimax_m2', template: ['minimax:tool_call'] },
  { format: 'hunyuan', template: ['<tool_sep>', '<arg_key>'] },
  { format: 'longcat_tags', template: ['<longcat_arg_key>'] },
  { format: 'longcat', template: ['<longcat_tool_call>'] },
  { format: 'dots', template: ['<dots_function_call>'] },
  { format: 'k2_horizon', template: ['<ifm|tool_calls>'] },
  { format: 'step3', template: ['steptml:invoke'] },
  { format: 'glm47', template: ['{function-name}<arg_key>'] },
  { format: 'glm45', template: ['<arg_key>'] },
  { format: 'qwen3_coder', template: ['<function=', '<parameter='] },
  { format: 'functionary', template: ['<function='] },
  { format: 'minicpm5', template: ['<function name="', '<param name="'] },
  { format: 'kimi_k2', template: ['<|tool_calls_section_begin|>'] },
  { format: 'deepseek_v3', template: ['<｜tool▁sep｜>', '```json'] },
  { format: 'deepseek_v31', template: ['<｜tool▁sep｜>'] },
  { format: 'gemma4', template: ['<|tool_call>call:'] },
  { format: 'functiongemma', template: ['<start_function_call>'] },
  { format: 'lfm2', template: [['<|tool_call_start|>', '<|tool_list_start|>']] },
  { format: 'cohere', template: ['<|START_ACTION|>'] },
  { format: 'apertus', template: ['<|tools_prefix|>'] },
  { format: 'mistral', template: ['[TOOL_CALLS]', '[ARGS]'] },
  { format: 'mistral_json', template: ['[TOOL_CALLS]'] },
  { format: 'interns1', template: ['<|action_start|>', '<|plugin|>'] },
  { format: 'gigachat31', template: ['<|role_sep|>', '<|function_call|>'] },
  { format: 'gigachat3', template: ['<|role_sep|>', 'function call'] },
  { format: 'granite', template: ['<|tool_call|>'] },
  { format: 'nemotron', template: ['<TOOLCALL>'] },
  { format: 'apriel', template: ['<tool_calls>['] },
  { format: 'minimax_m1', template: ['<tool_calls>', '</tool_calls>'] },
  { format: 'granite_20b_fc', template: ['<function_call> '] },
  { format: 'functools', template: ['functools['] },
  { format: 'olmo3', template: ['<function_calls>'] },
  { format: 'hermes', template: ['<tool_call>'] },
  { format: 'llama3', template: [['<|python_tag|>', '{"name": function name, "parameters":']] },
  { format: 'pythonic', template: ['[func_name1('] },
  { format: 'lfm2', tokens: ['<|tool_call_start|>', '<|tool_call_end|>'] },
];

const REASONING: readonly FormatRule[] = [
  { format: 'gpt-oss', ...HARMONY_MARKS },
  { format: 'gemma4', template: ['<|channel>thought'] },
  { format: 'mistral', template: ['[THINK]'] },
  { format: 'kimi', template: ['◁think▷'] },
  { format: 'kimi_k3', template: ['<|open|>', '<|sep|>'] },
  { format: 'minimax_m3', template: ['mm:think'] },
  { format: 'plamo3', template: [['plamo:begin_think', '<|plamo:begin_']] },
  { format: 'inkling', template: ['<|content_thinking|>'] },
  { format: 'seed_oss', template: ['seed:think'] },
  { format: 'cohere_command4', template: ['<|START_THINKING|>', '<|START_TEXT|>'] },
  { format: 'cohere', template: ['<|START_THINKING|>'] },
  { format: 'apertus', template: ['inner_prefix'] },
  { format: 'ernie45', template: ['<think>', '<response>', '<tool_call>'] },
  { format: 'granite', template: ['<think>', '<response>'] },
  { format: 'granite3.2', template: ['Here is my thought process:'] },
  { format: 'hunyuan_a13b', template: ['</think>', ['<answer>', '<|extra_0|>']] },
  { format: 'longcat', template: ['longcat_think>'] },
  { format: 'k2_horizon', template: ['ifm|think'] },
  { format: 'glm45', template: ['</think>', '<arg_key>'] },
  { format: 'kimi_k2', template: ['</think>', '<|tool_calls_section_begin|>'] },
  { format: 'deepseek_r1', template: ['</think>', '<｜Assistant｜>'], without: ['thinking'] },
  { format: 'qwen3', template: ['</think>', ['<tool_call>', '｜DSML｜']] },
  { format: 'think', template: ['</think>'] },
  { format: 'think', tokens: ['<think>', '</think>'] },
];

/** The formats of one kind, by name; their other names; and the rules that detect them, of which the first that holds decides. */
export interface FormatTable<Format> {
  formats: ReadonlyMap<string, Format>;
  aliases: Readonly<Record<string, string>>;
  rules: readonly FormatRule[];
}

export interface FormatTables {
  tools: FormatTable<ToolFormat>;
  reasoning: FormatTable<ReasoningFormat>;
}

/** The formats that the engine knows. */
export const FORMAT_TABLES: FormatTables = {
  tools: { formats: TOOL_FORMATS, aliases: TOOL_ALIASES, rules: TOOLS },
  reasoning: { formats: REASONING_TABLE, aliases: REASONING_ALIASES, rules: REASONING },
};

export interface DetectedFormats {
  tools: string | null;
  reasoning: string | null;
}

/** `hasToken`: whether the vocabulary has a token of that text. */
export function detectFormats(
  template: string,
  hasToken: (text: string) => boolean,
  { tools, reasoning } = FORMAT_TABLES,
): DetectedFormats {
  const holds = ({ template: parts = [], without = [], tokens = [] }: FormatRule): boolean =>
    parts.every((part) => [part].flat().some((text) => template.includes(text))) &&
    !without.some((text) => template.includes(text)) &&
    tokens.every(hasToken);
  const first = (rules: readonly FormatRule[]): string | null => rules.find(holds)?.format ?? null;
  return { tools: first(tools.rules), reasoning: first(reasoning.rules) };
}

const NONE = 'none';

function namesOf({ formats, aliases }: FormatTable<unknown>): string[] {
  return [...formats.keys(), ...Object.keys(aliases), HARMONY.name, NONE];
}

/** Names that `outputFormat` accepts. */
export const TOOL_CALL_FORMATS: readonly string[] = namesOf(FORMAT_TABLES.tools);
export const REASONING_FORMATS: readonly string[] = namesOf(FORMAT_TABLES.reasoning);

/** The formats by name; a name that is left out takes the detected format. Throws bad_request for an unknown name. */
export function outputFormat(
  named: { tools?: string | undefined; reasoning?: string | undefined },
  detected: DetectedFormats,
  tables = FORMAT_TABLES,
): OutputFormat {
  const tools = named.tools ?? detected.tools ?? NONE;
  const reasoning = named.reasoning ?? detected.reasoning ?? NONE;
  const chosen = {
    tools: formatNamed(tools, 'toolCallParser', tables.tools),
    reasoning: formatNamed(reasoning, 'reasoningParser', tables.reasoning),
  };
  if (!hasChannels(tools, tables.tools) && !hasChannels(reasoning, tables.reasoning))
    return { ...chosen, channels: null };
  return { tools: null, reasoning: null, channels: HARMONY };
}

function hasChannels(name: string, { aliases }: FormatTable<unknown>): boolean {
  return (aliases[name] ?? name) === HARMONY.name;
}

/** null: the name stands for no format, or for that of channels. */
function formatNamed<Format>(name: string, option: string, table: FormatTable<Format>): Format | null {
  const format = table.formats.get(table.aliases[name] ?? name);
  const names = namesOf(table);
  if (format !== undefined || names.includes(name)) return format ?? null;
  throw badRequest(`\`${option}\` ${name} is not a known format: it is one of ${names.join(', ')}`, option);
}

export function describeFormat({ tools, reasoning, channels }: OutputFormat): DetectedFormats {
  if (channels) return { tools: channels.name, reasoning: channels.name };
  return { tools: tools?.name ?? null, reasoning: reasoning?.name ?? null };
}
