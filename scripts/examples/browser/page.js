// A conversation with a language model and images of a diffusion model, both computed in workers of this page.

import { encodeImage, openImageModel, openTextModel } from './engine/index.js';
import { modelNamed, pickFolder } from './models.js';

const element = (id) => document.getElementById(id);

/** The model of one section: opened when it is first used, and again when another one is chosen. */
class Choice {
  #open;
  #input;
  /** The folder that the user picked; null: what the text field names. */
  #folder = null;
  /** @type {Promise<any> | null} */
  #opened = null;

  constructor(kind, open) {
    this.#open = open;
    this.#input = element(`${kind}-model`);
    this.#input.addEventListener('change', () => this.#choose(null));
    element(`${kind}-folder`).addEventListener('click', () => {
      pickFolder().then((folder) => this.#choose(folder), showError);
    });
  }

  #choose(folder) {
    this.#folder = folder;
    if (folder !== null) this.#input.value = folder.name ?? folder[0].webkitRelativePath.split('/')[0];
    void this.#opened?.then((model) => model.close()).catch(() => {});
    this.#opened = null;
  }

  /** An opening that fails is tried again at the next request. */
  async model(signal) {
    this.#opened ??= this.#start(signal);
    try {
      return await this.#opened;
    } catch (error) {
      this.#opened = null;
      throw error;
    }
  }

  async #start(signal) {
    const model = this.#folder ?? (await modelNamed(this.#input.value.trim()));
    return this.#open({ model }, showProgress, signal);
  }
}

const conversation = [];
const chat = new Choice('chat', openTextModel);
const images = new Choice('image', openImageModel);

onSubmit('chat', async (form, signal) => {
  const content = form.get('prompt');
  conversation.push({ role: 'user', content });
  addMessage('user').textContent = content;
  const model = await chat.model(signal);
  showStatus(`Computed on ${model.info.adapter.description || model.info.adapter.vendor}`);
  const reply = addMessage('assistant');
  for await (const event of model.generate({ prompt: { messages: conversation } }, { signal }))
    if (event.type === 'delta') reply.append(event.text);
  conversation.push({ role: 'assistant', content: reply.textContent });
});

onSubmit('images', async (form, signal) => {
  const prompt = form.get('prompt');
  const seed = Math.floor(Math.random() * 2 ** 32);
  const model = await images.model(signal);
  for await (const event of model.generate({ prompt, seed, steps: Number(form.get('steps')) }, { signal })) {
    if (event.type === 'step') showStatus(`step ${event.step} of ${event.steps}`);
    if (event.type === 'image') await addImage(event.image, prompt);
    if (event.type === 'done') showStatus(`drawn in ${(event.milliseconds / 1000).toFixed(1)} s`);
  }
});

/** Runs `act` for each submit of a form, one at a time; the form's button Stop aborts it. */
function onSubmit(id, act) {
  const form = element(id);
  const stop = form.querySelector('.stop');
  let running = null;
  stop.addEventListener('click', () => running?.abort());
  const run = async () => {
    if (running !== null) return;
    running = new AbortController();
    stop.disabled = false;
    try {
      await act(new FormData(form), running.signal);
    } catch (error) {
      showError(error);
    }
    running = null;
    stop.disabled = true;
  };
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void run();
  });
}

async function addImage(pixels, alt) {
  const png = await encodeImage(pixels, { format: 'png' });
  const src = URL.createObjectURL(new Blob([png], { type: 'image/png' }));
  element('drawn').prepend(Object.assign(document.createElement('img'), { src, alt }));
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
  if (event.type === 'warmup') showStatus(`compiling ${event.done} of ${event.total} kernels`);
}

function showStatus(text) {
  element('status').textContent = text;
}

function showError(error) {
  if (error.name !== 'AbortError') showStatus(`${error.code ?? 'error'}: ${error.message}`);
}
