// Formats of tool calls with tags around each argument. Sources: the chat templates of the models, and their output.

import type { JsonBody, ToolFormat } from './format.ts';
import {
  ARGUMENT_TAGS,
  argumentTags,
  attributeTags,
  elementTags,
  FUNCTION_TAGS,
  OPEN_AND_CLOSE,
  stringTags,
  TYPED,
  typedTags,
} from './tag-bodies.ts';

export const NAME_AND_ARGUMENTS: JsonBody = {
  kind: 'json',
  name: 'name',
  arguments: ['arguments', 'parameters'],
};

export const TOOL_CALL = { begin: '<tool_call>', end: '</tool_call>' };

const LONGCAT = {
  call: { begin: '<longcat_tool_call>', end: '</longcat_tool_call>' },
  lineBreaks: true,
};

/** Words that models write in the opening tag around all calls. */
const DSML_SLIPS = ['toolcalls', 'tool'].map((word) => ({
  begin: `<｜DSML｜${word}>`,
  end: '</｜DSML｜tool_calls>',
}));

const MINIMAX = ']<]minimax[>[';

export const TAGGED_FORMATS: readonly ToolFormat[] = [
  { name: 'qwen3_coder', call: TOOL_CALL, bodies: [FUNCTION_TAGS], lineBreaks: true },
  { name: 'mimo', call: TOOL_CALL, bodies: [{ ...FUNCTION_TAGS, newlines: false }], lineBreaks: true },
  {
    name: 'seed_oss',
    call: { begin: '<seed:tool_call>', end: '</seed:tool_call>' },
    bodies: [{ ...FUNCTION_TAGS, newlines: 'may' }],
    lineBreaks: true,
  },
  {
    name: 'deepseek_v32',
    section: { begin: '<｜DSML｜function_calls>', end: '</｜DSML｜function_calls>' },
    bodies: [stringTags('｜DSML｜')],
    lineBreaks: true,
  },
  {
    name: 'deepseek_v4',
    section: { begin: '<｜DSML｜tool_calls>', end: '</｜DSML｜tool_calls>' },
    otherSections: DSML_SLIPS,
    bodies: [stringTags('｜DSML｜')],
    lineBreaks: true,
  },
  {
    name: 'deepseek_v41',
    section: { begin: '<｜DSML｜ calls>', end: '</｜DSML｜ calls>' },
    bodies: [stringTags('｜DSML｜ ')],
    lineBreaks: true,
  },
  {
    name: 'gigachat35',
    section: { begin: '<｜GCML｜tool_calls>', end: '</｜GCML｜tool_calls>' },
    bodies: [stringTags('｜GCML｜')],
    lineBreaks: true,
  },
  { name: 'glm45', call: TOOL_CALL, bodies: [ARGUMENT_TAGS], lineBreaks: true },
  { name: 'glm47', call: TOOL_CALL, bodies: [ARGUMENT_TAGS] },
  {
    name: 'iquest_q1',
    call: { begin: '<iquest_tool_call>', end: '</iquest_tool_call>' },
    bodies: [ARGUMENT_TAGS],
  },
  {
    name: 'hunyuan',
    section: { begin: '<tool_calls>', end: '</tool_calls>' },
    call: TOOL_CALL,
    bodies: [{ ...ARGUMENT_TAGS, name: { begin: '', end: '<tool_sep>' } }],
    lineBreaks: true,
  },
  // LongCat's first models were trained on JSON in its tags, later ones on keys and values.
  { name: 'longcat', ...LONGCAT, bodies: [NAME_AND_ARGUMENTS, argumentTags('longcat_')] },
  { name: 'longcat_tags', ...LONGCAT, bodies: [argumentTags('longcat_'), NAME_AND_ARGUMENTS] },
  {
    name: 'k2_horizon',
    section: { begin: '<ifm|tool_calls>', end: '</ifm|tool_calls>' },
    call: { begin: '<ifm|tool_call>', end: '</ifm|tool_call>' },
    separators: ['\n'],
    bodies: [typedTags('ifm|'), NAME_AND_ARGUMENTS],
  },
  {
    name: 'step3',
    section: { begin: '<｜tool_calls_begin｜>', end: '<｜tool_calls_end｜>' },
    call: { begin: '<｜tool_call_begin｜>', end: '<｜tool_call_end｜>' },
    bodies: [attributeTags('steptml:', [TYPED], 'function<｜tool_sep｜>')],
  },
  {
    name: 'kimi_k3',
    section: { begin: '<|open|>tools<|sep|>', end: '<|close|>tools<|sep|>' },
    bodies: [OPEN_AND_CLOSE],
  },
  {
    name: 'minimax_m3',
    section: { begin: `${MINIMAX}<tool_call>`, end: `${MINIMAX}</tool_call>` },
    bodies: [elementTags(MINIMAX)],
    lineBreaks: true,
  },
  {
    name: 'minimax_m2',
    section: { begin: '<minimax:tool_call>', end: '</minimax:tool_call>' },
    bodies: [attributeTags('', [TYPED])],
    lineBreaks: true,
  },
  {
    name: 'dots',
    section: { begin: '<dots_function_call>', end: '</dots_function_call>' },
    bodies: [attributeTags('', [TYPED]), NAME_AND_ARGUMENTS],
    lineBreaks: true,
  },
  {
    name: 'minicpm5',
    bodies: [
      {
        kind: 'tagged',
        // MiniCPM 5's tokenizer may drop the space within an opening tag, or write it as Ġ.
        name: {
          begin: '<function name="',
          otherBegins: ['<functionname="', '<functionĠname="'],
          end: '">',
        },
        key: { begin: '<param name="', otherBegins: ['<paramname="', '<paramĠname="'], end: '"' },
        value: {
          begins: [TYPED, { text: '><![CDATA[', reads: 'text', end: ']]></param>' }],
          end: '</param>',
        },
        close: '</function>',
      },
    ],
    lineBreaks: true,
  },
];
