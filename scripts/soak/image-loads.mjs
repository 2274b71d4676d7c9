// Pictures: drawn, streamed with previews, edited, fetched by address, and given up.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { dataOf } from './client.mjs';

const PROMPTS = ['a red balloon over snowy mountains', 'a house in a meadow'];

async function picture(at) {
  const { pick, chance, int } = at.random;
  const stream = chance(0.5);
  const body = {
    prompt: pick(PROMPTS),
    num_inference_steps: 1 + int(3),
    n: 1 + int(2),
    seed: int(100),
    guidance_scale: pick([1, 4]),
    output_format: pick(['png', 'jpeg', 'webp']),
    stream,
    ...(stream && { partial_images: int(3) }),
  };
  at.said = { path: '/v1/images/generations', body };
  if (!stream) {
    const { data: pictures } = await at.client.post(at.said.path, body);
    assert.equal(pictures.length, body.n);
    for (const { b64_json: text } of pictures) checkPicture(text, body.output_format);
    return;
  }
  const told = dataOf(await at.client.stream(at.said.path, body));
  const done = told.filter(({ type }) => type === 'image_generation.completed');
  assert.equal(done.length, body.n, JSON.stringify(told.at(-1)).slice(0, 300));
  for (const { b64_json: text } of told) checkPicture(text, body.output_format);
}

const SIGNATURES = { png: '89504e47', jpeg: 'ffd8ff', webp: '52494646' };

function checkPicture(text, format) {
  assert.equal(
    Buffer.from(text, 'base64').toString('hex', 0, SIGNATURES[format].length / 2),
    SIGNATURES[format],
  );
}

/** Load: an image is fetched by its URL, and another is drawn from it. */
async function edit(at) {
  const asked = {
    prompt: PROMPTS[1],
    num_inference_steps: 1,
    guidance_scale: 1,
    response_format: 'url',
  };
  at.said = { path: '/v1/images/generations', body: asked };
  const { data: kept } = await at.client.post(at.said.path, asked);
  const { pathname } = new URL(kept[0].url);
  const bytes = await (await at.client.send('GET', pathname)).arrayBuffer();
  const form = new FormData();
  form.set('image', new File([bytes], 'house.png', { type: 'image/png' }));
  form.set('prompt', PROMPTS[0]);
  form.set('num_inference_steps', '2');
  form.set('strength', '0.5');
  at.said = { path: '/v1/images/edits' };
  const { data: drawn } = await at.client.post(at.said.path, form);
  checkPicture(drawn[0].b64_json, 'png');
}

async function pictureGone(at) {
  const leave = new AbortController();
  const asked = at.client.post(
    '/v1/images/generations',
    { prompt: PROMPTS[0], num_inference_steps: 40 },
    { signal: leave.signal },
  );
  await Promise.all([
    asked.catch((error) => error.name === 'AbortError' || Promise.reject(error)),
    sleep(at.random.int(500)).then(() => leave.abort()),
  ]);
}

export const IMAGE_LOADS = { picture, edit, pictureGone };
