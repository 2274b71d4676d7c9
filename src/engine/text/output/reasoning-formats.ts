// Table of reasoning formats, one for each way in which models mark their reasoning.

import type { ChannelFormat, ReasoningFormat } from './format.ts';

const THINK = { begin: '<think>', end: '</think>', gap: '\n\n' };

/** Granite 3.2 marks its reasoning by sentences, and some of its quantized copies shorten them. */
const GRANITE_PHRASES = { begin: 'Here is my thought process:', end: 'Here is my response:' };
const GRANITE_SHORT_PHRASES = { begin: "Here's my thought process:", end: "Here's my response:" };

const FORMATS: readonly ReasoningFormat[] = [
  { name: 'think', ...THINK },
  { name: 'deepseek_r1', ...THINK, always: true },
  { name: 'qwen3', ...THINK, callsEnd: true },
  { name: 'qwen3_thinking', ...THINK, always: true, callsEnd: true },
  { name: 'minimax-append-think', ...THINK, always: true, joined: true },
  { name: 'nemotron_3', ...THINK, callsEnd: true, fills: 'force_nonempty_content' },
  { name: 'glm45', ...THINK, gap: '\n', callsEnd: true },
  { name: 'kimi_k2', ...THINK, gap: '', callsEnd: true },
  {
    name: 'kimi_k3',
    begin: '<|open|>think<|sep|>',
    end: '<|close|>think<|sep|>',
    others: [{ begin: '<|open|>think<|sep|>', end: '<|close|>think' }], // the last token may be missing
    callsEnd: true,
    answer: { begin: '<|open|>response<|sep|>', end: '<|close|>response<|sep|>' },
    dropped: ['<|close|>message<|sep|>'],
  },
  { name: 'minimax_m3', begin: '<mm:think>', end: '</mm:think>', callsEnd: true },
  {
    name: 'plamo3',
    begin: '<|plamo:begin_think:plamo|>',
    end: '<|plamo:end_think:plamo|>',
    callsEnd: true,
    repeats: true,
    dropped: ['<|plamo:tag|>', '<|plamo:end_think:plamo|>'], // the end may be repeated
  },
  {
    name: 'inkling',
    begin: '<|content_thinking|>',
    end: '<|end_message|>',
    others: [{ begin: '<|content_thinking|>', end: '<|content_model_end_sampling|>' }],
    repeats: true,
    callsEnd: true,
    answer: { begin: '<|content_text|>', end: '<|end_message|>' },
    dropped: ['<|content_model_end_sampling|>', '<|content_invoke_tool_text|>', '<|content_tool_error|>'],
    header: '<|message_model|>',
  },
  { name: 'kimi', begin: '◁think▷', end: '◁/think▷', always: true },
  { name: 'mistral', begin: '[THINK]', end: '[/THINK]' },
  { name: 'seed_oss', begin: '<seed:think>', end: '</seed:think>' },
  {
    name: 'gemma4',
    begin: '<|channel>thought\n',
    end: '<channel|>',
    others: [{ begin: '<|channel>', end: '<channel|>' }], // the channel's name may be missing
    repeats: true,
  },
  {
    name: 'ernie45',
    ...THINK,
    always: true,
    callsEnd: true,
    answer: { begin: '<response>\n', end: '\n</response>' },
  },
  { name: 'hunyuan_a13b', ...THINK, gap: '\n', answer: { begin: '<answer>\n', end: '\n</answer>' } },
  {
    name: 'k2_horizon',
    begin: '<ifm|think>',
    end: '</ifm|think>',
    // Lower efforts have tags of their own.
    others: [
      { begin: '<ifm|think_fast>', end: '</ifm|think_fast>' },
      { begin: '<ifm|think_faster>', end: '</ifm|think_faster>' },
    ],
    callsEnd: true,
  },
  { name: 'longcat', begin: '<longcat_think>', end: '</longcat_think>', gap: '\n' },
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
    others: [GRANITE_PHRASES, GRANITE_SHORT_PHRASES],
    answer: { begin: '<response>', end: '</response>' },
  },
  { name: 'granite3.2', ...GRANITE_PHRASES, gap: '\n\n', others: [GRANITE_SHORT_PHRASES] },
  { name: 'apertus', begin: '<|inner_prefix|>', end: '<|inner_suffix|>', repeats: true },
];

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

export const REASONING_FORMATS: ReadonlyMap<string, ReasoningFormat> = new Map(
  FORMATS.map((format) => [format.name, format]),
);
