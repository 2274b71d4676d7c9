// How each family of models marks its reasoning, by the names that servers know these formats by.

import type { ChannelFormat, ReasoningFormat } from './format.ts';

const THINK = { begin: '<think>', end: '</think>', gap: '\n\n' };

const FORMATS: readonly ReasoningFormat[] = [
  { name: 'think', ...THINK },
  { name: 'deepseek_r1', ...THINK, always: true },
  { name: 'qwen3', ...THINK, callsEnd: true },
  { name: 'qwen3_thinking', ...THINK, always: true, callsEnd: true },
  { name: 'minimax-append-think', ...THINK, always: true, joined: true },
  { name: 'nemotron_3', ...THINK, fills: 'force_nonempty_content' },
  { name: 'glm45', ...THINK, gap: '\n', callsEnd: true },
  { name: 'kimi_k2', ...THINK, gap: '', callsEnd: true },
  { name: 'kimi', begin: '◁think▷', end: '◁/think▷', always: true },
  { name: 'mistral', begin: '[THINK]', end: '[/THINK]' },
  { name: 'seed_oss', begin: '<seed:think>', end: '</seed:think>' },
  { name: 'gemma4', begin: '<|channel>thought\n', end: '<channel|>', repeats: true },
  {
    name: 'cohere',
    begin: '<|START_THINKING|>',
    end: '<|END_THINKING|>',
    answer: { begin: '<|START_RESPONSE|>', end: '<|END_RESPONSE|>' },
  },
  {
    name: 'cohere_command4',
    begin: '<|START_THINKING|>',
    end: '<|END_THINKING|>',
    answer: { begin: '<|START_TEXT|>', end: '<|END_TEXT|>' },
  },
  {
    name: 'granite',
    begin: '<think>',
    end: '</think>',
    answer: { begin: '<response>', end: '</response>' },
  },
  { name: 'apertus', begin: '<|inner_prefix|>', end: '<|inner_suffix|>', repeats: true },
];

/** Other names for the same. */
const ALIASES: Record<string, string> = {
  'deepseek-r1': 'deepseek_r1',
  'deepseek-v3': 'think',
  'deepseek-v4': 'think',
  deepseek_v3: 'think',
  'qwen3-thinking': 'qwen3_thinking',
  interns1: 'qwen3',
  step3: 'deepseek_r1',
  step3p5: 'deepseek_r1',
  mimo: 'think',
  hunyuan: 'think',
  minimax: 'qwen3_thinking',
  poolside_v1: 'think',
  apertus2509: 'apertus',
};

export const HARMONY: ChannelFormat = {
  name: 'gpt-oss',
  start: '<|start|>',
  channel: '<|channel|>',
  constrain: '<|constrain|>',
  message: '<|message|>',
  end: '<|end|>',
  ends: ['<|call|>', '<|return|>'],
  reasoning: 'analysis',
  answer: 'final',
  calls: 'commentary',
  namespace: 'functions.',
};

const REASONING_FORMATS: ReadonlyMap<string, ReasoningFormat> = new Map(
  FORMATS.map((format) => [format.name, format]),
);

export function reasoningFormat(name: string): ReasoningFormat | undefined {
  return REASONING_FORMATS.get(ALIASES[name] ?? name);
}

export const reasoningFormatNames = (): string[] => [...REASONING_FORMATS.keys(), ...Object.keys(ALIASES)];
