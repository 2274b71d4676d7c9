// The versions of Mistral's format of conversations: each differs from the one before in few places. Source: mistral-common.

import { PARAGRAPH } from './mistral-turns.ts';

export interface MistralVersion {
  /** Whether system messages stand between marks of their own; otherwise their text opens the last message of the user. */
  marksSystem: boolean;
  /** The user's message that tools and settings stand before. */
  toolsBefore: 'first' | 'last';
  /** `list`: JSON of all calls; `ids`: each call's name, id and arguments; `names`: without ids. */
  calls: 'list' | 'ids' | 'names';
  /** `json`: an object with the id; `ids`: the id before the text; `text`: the text alone. */
  results: 'json' | 'ids' | 'text';
  /** Whether results follow the order of their calls. */
  ordersResults: boolean;
  /** Between neighbouring texts of one message. */
  between: string;
  /** Whether reasoning stands between marks, where the tokenizer has them. */
  marksThinking: boolean;
  hasSettings: boolean;
  /** Texts that must be special tokens. */
  tokens: string;
}

const V3: MistralVersion = {
  ...{ marksSystem: false, toolsBefore: 'last', calls: 'list', results: 'json' },
  ...{ ordersResults: false, between: PARAGRAPH, marksThinking: false, hasSettings: false },
  tokens:
    '<s> </s> [INST] [/INST] [AVAILABLE_TOOLS] [/AVAILABLE_TOOLS] [TOOL_CALLS] [TOOL_RESULTS] [/TOOL_RESULTS]',
};
const V7: MistralVersion = {
  ...V3,
  ...{ marksSystem: true, results: 'ids' },
  tokens: `${V3.tokens} [SYSTEM_PROMPT] [/SYSTEM_PROMPT] [TOOL_CONTENT]`,
};
const V11: MistralVersion = {
  ...V7,
  ...{ calls: 'ids', ordersResults: true },
  tokens: `${V7.tokens} [CALL_ID] [ARGS]`,
};
const V13: MistralVersion = {
  ...V11,
  ...{ toolsBefore: 'first', calls: 'names', results: 'text', marksThinking: true },
};
const V15: MistralVersion = {
  ...V13,
  between: '',
  hasSettings: true,
  tokens: `${V13.tokens} [MODEL_SETTINGS] [/MODEL_SETTINGS]`,
};
/** By the version that tekken.json states. */
export const FORMATS: ReadonlyMap<string, MistralVersion> = new Map([
  ['v3', V3],
  ['v7', V7],
  ['v11', V11],
  ['v13', V13],
  ['v15', V15],
]);
