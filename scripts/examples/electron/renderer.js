// The page of the example: a conversation with the chat model and images of the image model, both of which ship with svc-engine. Other windows
// that open the same models share them.

/** @type {import('svc-engine/electron/preload').WindowEngine} */
const engine = globalThis.svcEngine;

const element = (id) => document.getElementById(id);
const conversation = [];
let stopping = null;

const chat = engine.openTextModel({ model: 'svc-chat-mini' }, showProgress);
let images = null; // opened when the first image is asked for

chat.then(
  ({ info }) => showStatus(`${info.name} on ${info.adapter.description || info.adapter.vendor}`),
  showError,
);

element('form').addEventListener('submit', (event) => {
  event.preventDefault();
  if (!stopping) void submit(element('prompt').value, event.submitter?.value);
});
element('stop').addEventListener('click', () => stopping?.abort());

async function submit(prompt, action) {
  element('prompt').value = '';
  addMessage('user').textContent = prompt;
  stopping = new AbortController();
  element('stop').disabled = false;
  try {
    if (action === 'image') await draw(prompt, stopping.signal);
    else await answer(prompt, stopping.signal);
  } catch (error) {
    showError(error);
  } finally {
    stopping = null;
    element('stop').disabled = true;
  }
}

async function answer(prompt, signal) {
  conversation.push({ role: 'user', content: prompt });
  const message = addMessage('assistant');
  const events = (await chat).generate({ prompt: { messages: conversation } }, { signal });
  for await (const event of events) if (event.type === 'delta') message.append(event.text);
  conversation.push({ role: 'assistant', content: message.textContent });
}

async function draw(prompt, signal) {
  images ??= engine.openImageModel({ model: 'svc-scenes-mini' }, showProgress);
  const message = addMessage('assistant');
  const seed = Math.floor(Math.random() * 2 ** 32);
  for await (const event of (await images).generate({ prompt, seed }, { signal })) {
    if (event.type === 'step') showStatus(`step ${event.step} of ${event.steps}`);
    if (event.type === 'image') message.append(canvasOf(event.image));
    if (event.type === 'done') showStatus(`${(event.milliseconds / 1000).toFixed(1)} s`);
  }
}

/** An image has three bytes a pixel, a canvas four. */
function canvasOf({ width, height, data }) {
  const canvas = Object.assign(document.createElement('canvas'), { width, height });
  const pixels = new ImageData(width, height);
  for (let at = 0; at < width * height; at++) {
    for (let c = 0; c < 3; c++) pixels.data[4 * at + c] = data[3 * at + c];
    pixels.data[4 * at + 3] = 255;
  }
  canvas.getContext('2d').putImageData(pixels, 0, 0);
  return canvas;
}

function addMessage(role) {
  const message = Object.assign(document.createElement('p'), { className: role });
  element('messages').append(message);
  return message;
}

function showProgress(event) {
  if (event.type === 'note') showStatus(event.message);
  if (event.type === 'load' || event.type === 'download')
    showStatus(`${event.type} ${Math.round((100 * event.bytes) / event.totalBytes)} %`);
}

function showStatus(text) {
  element('status').textContent = text;
}

function showError(error) {
  showStatus(`${error.code ?? 'error'}: ${error.message}`);
}
