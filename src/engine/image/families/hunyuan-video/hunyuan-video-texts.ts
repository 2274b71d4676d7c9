// Texts of HunyuanVideo 1.5: states of Qwen2.5-VL's language model before its last two layers for a prompt in a conversation, without those of the
// conversation's beginning, and states of ByT5 for what is quoted in the prompt and is to be seen in the clip.

import { badCheckpoint } from '../../../../files/error.ts';
import type { ChatRendering } from '../../../../files/template/template.ts';
import type { Tensor } from '../../../../gpu/tensor.ts';
import { meanRows } from '../../../../kernels/mean-rows.ts';
import { reshape } from '../../../../kernels/reshape.ts';
import { ConfigError } from '../../../../models/config-values.ts';
import type { HunyuanConfig } from '../../../../models/image/clips/hunyuan-config.ts';
import { openTemplate } from '../../blocks/chat-template.ts';
import {
  checkDecoder,
  decoderDeclaration,
  ENCODER,
  readDecoder,
  type DecoderReading,
} from '../../blocks/decoder-texts.ts';
import type { RunRequest } from '../../blocks/family.ts';
import { checkT5, readT5 } from '../../blocks/t5-texts.ts';
import { promptsOf, requireWidth, type TextStates } from '../../blocks/transformer-model.ts';
import type { ComponentAccess } from '../../components/components.ts';
import { compute, type ComputeOptions } from '../../recording/compute.ts';
import { Scope } from '../../recording/scope.ts';

/** Tokens of a prompt that are read, and bytes of what is quoted in it. */
export const MOST_TOKENS = 1000;
const MOST_BYTES = 256;
/** Tokens of the conversation before the prompt, whose states are left out. */
const DROPPED = 108;
/** Layers behind the states. */
const UNREAD_LAYERS = 2;
const BYT5 = { encoder: 'text_encoder_2', tokenizer: 'tokenizer_2' };

/** The lines of the instruction stand behind each other with the spaces before them. */
const SYSTEM = [
  'You are a helpful assistant. Describe the video by detailing the following aspects:',
  '1. The main content and theme of the video.',
  '2. The color, shape, size, texture, quantity, text, and spatial relationships of the objects.',
  '3. Actions, events, behaviors temporal relationships, physical movement changes of the objects.',
  '4. background environment, light, style and atmosphere.',
  '5. camera angles, movements, and transitions used in the video.',
].join(' '.repeat(9));

const conversation = (prompt: string): ChatRendering => ({
  messages: [
    { role: 'system', content: SYSTEM },
    { role: 'user', content: prompt === '' ? ' ' : prompt },
  ],
});

const READING: DecoderReading = {
  page(declaration, table) {
    table.ignore(/^(model\.)?visual\./);
    return declaration.states!(table, [declaration.layers.length - UNREAD_LAYERS]);
  },
};

/** Throws bad_checkpoint for encoders whose weights do not match their configurations or the transformer's, and damaged tokenizers. */
export async function checkHunyuanTexts(
  components: ComponentAccess,
  { textDims, glyphDims }: HunyuanConfig,
): Promise<void> {
  const count = decoderDeclaration(components).layers.length;
  if (count <= UNREAD_LAYERS) {
    const problem = `num_hidden_layers is ${count}, and the states before the last ${UNREAD_LAYERS} layers are read: take the text encoder of the same pipeline`;
    throw new ConfigError('bad_checkpoint', `${ENCODER}/config.json`, problem, 'num_hidden_layers');
  }
  const { hidden } = await checkDecoder(components, READING);
  requireWidth('text_embed_dim', textDims, ENCODER, hidden);
  requireWidth('text_embed_2_dim', glyphDims, BYT5.encoder, await checkT5(components, BYT5));
  await openTemplate(components);
}

/** Returns the states of each text, their mean, and those of what is quoted in it; the caller frees them. */
export async function readHunyuanTexts(
  components: ComponentAccess,
  request: RunRequest,
  guided: boolean,
): Promise<TextStates[]> {
  const { options } = request;
  const { tokenizer, template } = await openTemplate(components);
  const prompts = promptsOf(request, guided).map((text) => {
    const ids = tokenizer.encode(template.render(conversation(text)), { addSpecialTokens: false });
    if (ids.length > DROPPED) return { ids: ids.slice(0, DROPPED + MOST_TOKENS), quoted: quotedText(text) };
    // On paper what stands for a tokenizer gives the tokens of a prompt alone, in which something may be quoted.
    if (options.onPaper) return { ids: [...Array<number>(DROPPED).fill(0), ...ids], quoted: '' };
    throw badCheckpoint(
      `the chat template of tokenizer gives a prompt ${ids.length} tokens, more than ${DROPPED} are needed: take the tokenizer of the same pipeline`,
      'tokenizer/tokenizer_config.json',
    );
  });
  using results = new Scope(components.device);
  const all: TextStates[] = [];
  const given = { texts: prompts.map(({ ids }) => ({ ids })), dropped: DROPPED, options };
  for (const { states } of await readDecoder(components, READING, given)) {
    results.hold(states);
    all.push({ states, pooled: results.hold(await meanOf(components, states, options)) });
  }
  const seen = prompts.flatMap(({ quoted }, i) => (quoted === null ? [] : [{ quoted, text: all[i]! }]));
  if (seen.length > 0) {
    const reading = { count: MOST_BYTES, padding: 'none', options } as const;
    const quotes = seen.map(({ quoted }) => quoted);
    for (const [i, { states }] of (await readT5(components, BYT5, quotes, reading)).entries())
      seen[i]!.text.further = results.hold(states);
  }
  results.release();
  return all;
}

/** The mean of all tokens; states [1, tokens, columns] → [1, columns] */
async function meanOf({ device }: ComponentAccess, states: Tensor, options: ComputeOptions): Promise<Tensor> {
  const [, tokens, columns] = states.shape as [number, number, number];
  using inputs = new Scope(device);
  const range = inputs.hold(device.tensor('step', 'tokens of a text', [2], Uint32Array.of(0, tokens)));
  const [mean] = await compute(device, options, (tape) => [
    meanRows(reshape(states.on(tape), [tokens, columns]), range.region!, 1),
  ]);
  return mean!;
}

/** What is quoted in a prompt, each text once, as ByT5 reads it; null: nothing is. */
export function quotedText(prompt: string): string | null {
  const found = [...prompt.matchAll(/"([^\n]*?)"|“([^\n]*?)”/g)].map(
    ([, plain, curly]) => plain || (curly ?? ''),
  );
  if (found.length === 0) return null;
  return [...new Set(found)].map((text) => `Text "${text}". `).join('');
}
