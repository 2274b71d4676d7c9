// Validation rules for the options of a text model and the fields of a request, one table each, under the library's names.

import { type Prose, option, say, subject } from '../../../files/message.ts';
import { badRequest } from '../../../files/error.ts';
import { constraint, processor } from './constraint-rules.ts';
import { checkSpeculation } from './speculation-rules.ts';
import type { TileLimits } from '../../../files/media/decoded.ts';
import { MESSAGE, REASONING, TOOL, TOOL_CHOICES, TOOL_MODES } from '../../../options/conversation.ts';
import { LIMITS } from '../../../options/limits.ts';
import { MODEL_SETTINGS } from '../../../options/model.ts';
import { forModels, otherNamesOf } from '../../../options/setting.ts';
import { SAMPLING, SCHEDULING } from '../../../options/text-request.ts';
import { checkReplicas } from '../../opening/replicas.ts';
import {
  anything,
  checkOptions,
  filledText,
  flag,
  listOf,
  objectOf,
  oneOf,
  recordOf,
  refuse,
  ruleOf,
  rulesOf,
  text,
  whole,
  type Rule,
} from '../../input/rules.ts';
import type { ChatMessage, TextModelOptions, TextPrompt, TextRequest } from '../calls/text-model.ts';

/** Any value that contains :// is a URL. */
const storagePlace: Rule = (value, name) => {
  filledText(value, name);
  if (String(value).includes('://') && !/^rediss?:\/\/./.test(String(value)))
    refuse(value, name, 'file, a folder, or an address that begins with redis://');
};

const milliseconds = whole(1, LIMITS.timeout);

/** A rule for each member that the type names. */
type RulesOf<T> = { [K in keyof T as string extends K ? never : number extends K ? never : K]-?: Rule };

const TEXT_MODEL_OPTIONS: RulesOf<TextModelOptions> = {
  model: filledText,
  ...rulesOf(forModels(MODEL_SETTINGS, 'text')),
  storageCache: storagePlace,
};

/** Limit on the tiles of an image; models have limits of their own. */
const tiles = whole(1, LIMITS.tiles);
export const TILE_LIMITS: RulesOf<TileLimits> = { minTiles: tiles, maxTiles: tiles };

/** The bytes of a file, or what they are decoded to. */
const medium: Rule = (value, name) => {
  if (typeof value !== 'object' || value === null)
    refuse(value, name, 'the bytes of a file as a Uint8Array, or what they are decoded to');
};

/** The template decides which content parts it accepts and with which members. */
const part: Rule = (value, name) => {
  const rules = { type: filledText, text, image: medium, video: medium, audio: medium, ...TILE_LIMITS };
  objectOf(rules, { required: ['type'], open: true })(value, name);
  checkTiles(value as TileLimits, name);
};

function checkTiles({ minTiles = 1, maxTiles = Infinity }: TileLimits, name: string | null): void {
  if (minTiles > maxTiles)
    throw badRequest(
      `minTiles is ${minTiles}, maxTiles ${maxTiles}: ask for no more tiles than there may be`,
      name === null ? 'minTiles' : `${name}.minTiles`,
    );
}

const members = ruleOf({
  ...MESSAGE,
  members: { ...MESSAGE.members, content: { type: 'anything' } },
});

const message: Rule = (value, name) => {
  members(value, name);
  const { role, content, tool_calls: calls } = value as ChatMessage;
  if (content != null) (Array.isArray(content) ? listOf(part) : text)(content, `${name}.content`);
  const says = content !== undefined && !(content === null && role === 'user');
  if (!says && !calls?.length) refuse(content, `${name}.content`, 'a text or a list of text parts');
  if (calls?.length && role !== 'assistant')
    refuse(role, `${name}.role`, 'assistant where a message has tool_calls');
};

/** Ids are checked against the vocabulary later. */
const ids: Rule = (value, name) => {
  if (!Array.isArray(value)) refuse(value, name, 'a list of token ids');
};

const tools = listOf(ruleOf(TOOL));

/** Rules for each form of a prompt, by the member that identifies the form. */
const PROMPTS = {
  messages: {
    messages: listOf(message, { least: 1 }),
    tools,
    templateKwargs: recordOf(anything),
    continueFinal: flag,
    dropOldest: flag,
  },
  text: { text },
  ids: { ids, tools },
} as const;

const PROMPT_SHAPE = "{ messages: [{ role: 'user', content: 'Hello' }] }";

/** Throws bad_request for a value that is not a prompt. */
export function checkPrompt(prompt: TextPrompt): void {
  const given: unknown = prompt;
  const wanted = `an object with messages, text or ids, such as ${PROMPT_SHAPE}`;
  if (typeof given !== 'object' || given === null) refuse(given, 'prompt', wanted);
  const forms = (['messages', 'text', 'ids'] as const).filter((name) => Reflect.has(given, name));
  const [form] = forms;
  if (form === undefined || forms.length > 1) {
    throw badRequest(
      `the prompt has ${forms.length === 0 ? 'none' : 'more than one'} of messages, text and ids: give one of them, such as prompt: ${PROMPT_SHAPE}`,
      'prompt',
    );
  }
  checkOptions(given, PROMPTS[form], 'a prompt', [form]);
}

const toolChoice: Rule = (value, name) => {
  if (typeof value === 'string') return oneOf(...TOOL_CHOICES)(value, name);
  if (typeof value === 'object' && value !== null && 'name' in value) {
    return objectOf({ name: filledText })(value, name);
  }
  const names = { mode: oneOf(...TOOL_MODES), names: listOf(filledText, { least: 1 }) };
  return objectOf(names, { required: ['mode', 'names'] })(value, name);
};

const TEXT_REQUEST: RulesOf<TextRequest> = {
  ...rulesOf(SAMPLING),
  ...rulesOf(SCHEDULING),
  prompt: (value) => checkPrompt(value as TextPrompt),
  maxTokens: whole(0),
  id: filledText,
  processors: listOf(processor, { most: LIMITS.processors }),
  logprobs: whole(0, LIMITS.logprobs),
  promptLogprobs: whole(0, LIMITS.logprobs),
  constraint,
  toolChoice,
  parallelToolCalls: flag,
  reasoning: ruleOf(REASONING),
  cacheSalt: text,
  timeouts: objectOf({ queue: milliseconds, total: milliseconds, waited: whole(0) }),
  hiddenStates: oneOf('all', 'last'),
  routedExperts: objectOf({ from: whole(0) }, { required: ['from'] }),
  promptIds: flag,
  prediction: text,
  ...TILE_LIMITS,
};

/** Throws bad_request for settings of kernels that exclude each other. */
export function checkKernelChoices({
  activationDtype,
  deterministic,
}: Pick<TextModelOptions, 'activationDtype' | 'deterministic'>): void {
  if (activationDtype !== 'int8' || deterministic !== true) return;
  const param = 'activationDtype';
  throw badRequest(
    say`${option(param)} int8 has kernels for prompts that sum in another order than those after them, which ${option('deterministic')} rules out: leave one of them out`,
    param,
  );
}

const OTHER_NAMES = otherNamesOf({ ...SAMPLING, ...SCHEDULING });

/**
 * Checks options that hold members of requests beside members of their own, which have their own checks. `without`: members of a request that
 * the options do not have. Throws bad_request.
 */
export function checkRequestOptions(
  given: unknown,
  what: string,
  own: readonly string[],
  without: readonly (keyof TextRequest)[],
): void {
  const rules = Object.entries(TEXT_REQUEST).filter(([name]) => !without.some((left) => left === name));
  const named = [...own.map((name): [string, Rule] => [name, anything]), ...rules];
  checkOptions(given, Object.fromEntries(named), what, [], OTHER_NAMES);
}

/** Throws bad_request for the first option that is unknown or out of bounds, or that has no effect in combination with another. */
export function checkTextModelOptions(options: TextModelOptions): void {
  checkOptions(options, TEXT_MODEL_OPTIONS, 'openTextModel', ['model']);
  checkKernelChoices(options);
  checkReplicas(options);
  checkDividable(options);
  checkExperts(options);
  checkSpeculation(options);
  const { prefixCache = true, hostCache, storageCache, storageCacheBytes } = options;
  if (options.deterministic && options.batchInvariance === false)
    throw badRequest(
      say`${option('deterministic')} computes a request alike beside any others, which ${option('batchInvariance')} gives up for speed: leave one of them out`,
      'batchInvariance',
    );
  const useless = (param: string, why: Prose): never => {
    throw badRequest(say`${option(param)} has no effect ${why}`, param);
  };
  const off = 'where the prefix cache is off: leave one of them out';
  if (!prefixCache && hostCache !== undefined) useless('hostCache', off);
  if (!prefixCache && storageCache !== undefined) useless('storageCache', off);
  if (storageCacheBytes === undefined) return;
  if (storageCache === undefined)
    useless('storageCacheBytes', say`without ${option('storageCache')}: set that too`);
  if (/^rediss?:/.test(String(storageCache)))
    useless(
      'storageCacheBytes',
      say`where ${option('storageCache')} is a redis:// address: set maxmemory in that server`,
    );
}

/** Throws bad_request for what models that are divided among devices do not have. */
function checkDividable(options: TextModelOptions): void {
  const { tpSize = 1 } = options;
  if (tpSize === 1) return;
  const whole = [
    ...(['layerwiseOffload', 'cpuMoe', 'cpuMoeLayers', 'hostCache', 'storageCache'] as const),
    ...(['loraPaths', 'loraDir', 'mmproj'] as const),
  ];
  const given = [...whole, 'customLogitProcessors' as const].find((name) => options[name]);
  if (given === undefined) return;
  throw badRequest(
    say`${option(given)} does not go with ${option('tpSize')} ${tpSize} yet: leave one of them out, or use ${option('dpSize')}`,
    given,
  );
}

/** Throws bad_request for options of experts in host memory that contradict each other or have no effect. */
export function checkExperts({
  cpuMoe = false,
  cpuMoeLayers = 0,
  cpuMoeSlots,
}: Pick<TextModelOptions, 'cpuMoe' | 'cpuMoeLayers' | 'cpuMoeSlots'>): void {
  if (cpuMoe && cpuMoeLayers > 0)
    throw badRequest(
      say`${option('cpuMoe')} is for the experts of all layers, ${option('cpuMoeLayers')} ${cpuMoeLayers} for those of some: leave one of them out`,
      'cpuMoeLayers',
    );
  if (cpuMoeSlots === undefined || cpuMoe || cpuMoeLayers > 0) return;
  throw badRequest(
    say`${option('cpuMoeSlots')} has no effect without experts in host memory: set ${option('cpuMoe')} or ${option('cpuMoeLayers')}, too`,
    'cpuMoeSlots',
  );
}

/** Checks a request. `vocabulary`: number of token ids; larger ids are refused. Throws bad_request. */
export function checkTextRequest(request: TextRequest, vocabulary: number): void {
  if (typeof request === 'object' && request !== null && request.prompt === undefined)
    throw badRequest(`prompt is missing: give one, such as prompt: ${PROMPT_SHAPE}`, 'prompt');
  checkOptions(request, TEXT_REQUEST, 'a request', ['prompt'], OTHER_NAMES);
  const checkId = (id: number, param: string): void => {
    if (Number.isInteger(id) && id >= 0 && id < vocabulary) return;
    throw badRequest(`${param} is not a token id of this model (0 to ${vocabulary - 1})`, param);
  };
  checkTiles(request, null);
  const { minTokens = 0, maxTokens = Infinity } = request;
  if (minTokens > maxTokens) {
    throw badRequest(
      say`${subject('minTokens')} is ${minTokens}, ${subject('maxTokens')} ${maxTokens}: ask for no more tokens than there may be`,
      'minTokens',
    );
  }
  request.processors?.forEach((one, at) => {
    if ('tokens' in one && Array.isArray(one.tokens))
      one.tokens.forEach((id, i) => checkId(id, `processors.${at}.tokens.${i}`));
  });
  request.stopTokenIds?.forEach((id, at) => checkId(id, `stopTokenIds.${at}`));
  for (const token of Object.keys(request.logitBias ?? {}))
    checkId(/^\d+$/.test(token) ? Number(token) : NaN, `logitBias.${token}`);
}
