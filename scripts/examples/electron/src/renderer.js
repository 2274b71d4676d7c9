// The page of the example: conversations with the chat model, images of the image model; both ship with svc-engine. Other windows that open the same
// models share them. The conversation is kept between starts.

// @ts-expect-error -- installed beside the app; pages without a bundler import files
import * as installed from '../node_modules/svc-engine/dist/browser/chat.js';

/** @type {typeof import('svc-engine/chat')} */
const { extendTextModel } = installed;

/** @typedef {import('svc-engine').ChatSession} ChatSession */

const engine = /** @type {{ svcEngine: import('svc-engine/electron/preload').WindowEngine }} */ (
  /** @type {unknown} */ (globalThis)
).svcEngine;
const STORE = 'conversation';

/** @template {HTMLElement} T @param {string} id @param {new () => T} type @returns {T} */
function element(id, type) {
  const found = document.getElementById(id);
  if (!(found instanceof type)) throw new Error(`the page has no ${id}`);
  return found;
}

const status = element('status', HTMLElement);
const prompt = element('prompt', HTMLInputElement);
const stop = element('stop', HTMLButtonElement);
/** @type {AbortController | null} */
let stopping = null;

/** @type {Promise<ChatSession>} */
const chat = engine.openTextModel({ model: 'svc-chat-mini' }, showProgress).then((model) => {
  const saved = localStorage.getItem(STORE);
  const session = extendTextModel(model).chat({
    context: 'slide',
    ...(saved !== null && { restore: JSON.parse(saved) }),
  });
  for (const { role, content } of session.messages)
    if (typeof content === 'string') addMessage(role).textContent = content;
  status.textContent = `${model.info.name} on ${model.info.adapter.description || model.info.adapter.vendor}`;
  return session;
});
chat.catch(showError);

/** The image model, which is opened when the first image is asked for. @type {ReturnType<typeof engine.openImageModel>[]} */
const images = [];

element('form', HTMLFormElement).addEventListener('submit', (event) => {
  event.preventDefault();
  const button = event.submitter;
  if (!stopping) void submit(prompt.value, button instanceof HTMLButtonElement ? button.value : 'chat');
});
stop.addEventListener('click', () => stopping?.abort());
element('again', HTMLButtonElement).addEventListener('click', () => {
  localStorage.removeItem(STORE);
  location.reload();
});

/** @param {string} text @param {string} action */
async function submit(text, action) {
  prompt.value = '';
  addMessage('user').textContent = text;
  stopping = new AbortController();
  stop.disabled = false;
  try {
    if (action === 'image') await draw(text, stopping.signal);
    else await answer(text, stopping.signal);
  } catch (error) {
    showError(error);
  } finally {
    stopping = null;
    stop.disabled = true;
  }
}

/** @param {string} text @param {AbortSignal} signal */
async function answer(text, signal) {
  const session = await chat;
  const message = addMessage('assistant');
  for await (const event of session.send(text, { signal }))
    if (event.type === 'delta') message.append(event.text);
  localStorage.setItem(STORE, JSON.stringify(session.save()));
}

/** @param {string} text @param {AbortSignal} signal */
async function draw(text, signal) {
  images[0] ??= engine.openImageModel({ model: 'svc-scenes-mini' }, showProgress);
  const message = addMessage('assistant');
  for await (const event of (await images[0]).generate({ prompt: text }, { signal })) {
    if (event.type === 'step') status.textContent = `step ${event.step} of ${event.steps}`;
    if (event.type === 'image') message.append(canvasOf(event.image));
    if (event.type === 'done') status.textContent = `${(event.milliseconds / 1000).toFixed(1)} s`;
  }
}

/** An image has three bytes a pixel, a canvas four. @param {import('svc-engine').Pixels} image */
function canvasOf({ width, height, data }) {
  const canvas = Object.assign(document.createElement('canvas'), { width, height });
  const pixels = new ImageData(width, height);
  pixels.data.fill(255);
  for (let from = 0, to = 0; from < data.length; from += 3, to += 4)
    pixels.data.set(data.subarray(from, from + 3), to);
  canvas.getContext('2d')?.putImageData(pixels, 0, 0);
  return canvas;
}

/** @param {string} className */
function addMessage(className) {
  const message = Object.assign(document.createElement('p'), { className });
  element('messages', HTMLElement).append(message);
  return message;
}

/** @param {import('svc-engine').OpenEvent} event */
function showProgress(event) {
  if (event.type === 'note') status.textContent = event.message;
  if (event.type === 'load' || event.type === 'download')
    status.textContent = `${event.type} ${Math.round((100 * event.bytes) / event.totalBytes)} %`;
}

/** @param {unknown} error */
function showError(error) {
  const { code = 'error', message } = /** @type {Error & { code?: string }} */ (error);
  status.textContent = `${code}: ${message}`;
}
