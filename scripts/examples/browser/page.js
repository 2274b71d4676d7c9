// A conversation with a language model and images of a diffusion model, both computed in workers of this page.

// @ts-expect-error -- the server has the engine's bundle there
import * as served from './engine/index.js';
import { modelNamed, pickFolder } from './models.js';

const engine = /** @type {typeof import('svc-engine/browser')} */ (served);

/** @typedef {import('svc-engine/browser').OpenEvent} OpenEvent */

/** @template {HTMLElement} T @param {string} id @param {new () => T} type @returns {T} */
function element(id, type) {
  const found = document.getElementById(id);
  if (!(found instanceof type)) throw new Error(`the page has no ${id}`);
  return found;
}

/**
 * What is opened of one section: when it is first used, and again when another model is chosen.
 * @template {{ close(): Promise<void> }} M
 */
class Choice {
  #open;
  #input;
  /** The folder that the user picked; null: what the text field names. @type {import('svc-engine/browser').ModelFiles | null} */
  #folder = null;
  /** @type {Promise<M> | null} */
  #opened = null;

  /**
   * @param {string} kind
   * @param {(model: string | import('svc-engine/browser').ModelFiles, signal: AbortSignal) => Promise<M>} open
   */
  constructor(kind, open) {
    this.#open = open;
    this.#input = element(`${kind}-model`, HTMLInputElement);
    this.#input.addEventListener('change', () => this.#choose(null));
    element(`${kind}-folder`, HTMLButtonElement).addEventListener('click', () => {
      pickFolder().then(({ name, files }) => {
        this.#input.value = name;
        this.#choose(files);
      }, showError);
    });
  }

  /** @param {import('svc-engine/browser').ModelFiles | null} folder */
  #choose(folder) {
    this.#folder = folder;
    void this.#opened?.then((model) => model.close()).catch(() => {});
    this.#opened = null;
  }

  /** An opening that fails is tried again at the next request. @param {AbortSignal} signal */
  async model(signal) {
    this.#opened ??= this.#start(signal);
    try {
      return await this.#opened;
    } catch (error) {
      this.#opened = null;
      throw error;
    }
  }

  /** @param {AbortSignal} signal */
  async #start(signal) {
    return this.#open(this.#folder ?? (await modelNamed(this.#input.value.trim())), signal);
  }
}

const chat = new Choice('chat', async (files, signal) => {
  const model = await engine.openTextModel({ model: files }, showProgress, signal);
  return { model, session: model.chat({ context: 'slide' }), close: () => model.close() };
});
const images = new Choice('image', (files, signal) =>
  engine.openImageModel({ model: files }, showProgress, signal),
);

onSubmit('chat', async (form, signal) => {
  const text = textIn(form, 'prompt');
  addMessage('user').textContent = text;
  const { model, session } = await chat.model(signal);
  showStatus(`Computed on ${model.info.adapter.description || model.info.adapter.vendor}`);
  const reply = addMessage('assistant');
  for await (const event of session.send(text, { signal }))
    if (event.type === 'delta') reply.append(event.text);
});

onSubmit('images', async (form, signal) => {
  const prompt = textIn(form, 'prompt');
  const model = await images.model(signal);
  for await (const event of model.generate({ prompt, steps: Number(textIn(form, 'steps')) }, { signal })) {
    if (event.type === 'step') showStatus(`step ${event.step} of ${event.steps}`);
    if (event.type === 'image') await addImage(event.image, prompt);
    if (event.type === 'done') showStatus(`drawn in ${(event.milliseconds / 1000).toFixed(1)} s`);
  }
});

/** @param {FormData} form @param {string} name */
function textIn(form, name) {
  const value = form.get(name);
  return typeof value === 'string' ? value : '';
}

/**
 * Runs `act` for each submit of a form, one at a time; the form's button Stop aborts it.
 * @param {string} id @param {(form: FormData, signal: AbortSignal) => Promise<void>} act
 */
function onSubmit(id, act) {
  const form = element(id, HTMLFormElement);
  const stop = form.querySelector('button.stop');
  if (!(stop instanceof HTMLButtonElement)) throw new Error(`${id} has no button to stop`);
  /** @type {AbortController | null} */
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

/** @param {import('svc-engine/browser').Pixels} pixels @param {string} alt */
async function addImage(pixels, alt) {
  const png = await engine.encodeImage(pixels, { format: 'png' });
  const src = URL.createObjectURL(new Blob([new Uint8Array(png)], { type: 'image/png' }));
  element('drawn', HTMLElement).prepend(Object.assign(document.createElement('img'), { src, alt }));
}

/** @param {string} className */
function addMessage(className) {
  const message = Object.assign(document.createElement('p'), { className });
  element('messages', HTMLElement).append(message);
  return message;
}

/** @param {OpenEvent} event */
function showProgress(event) {
  if (event.type === 'note') showStatus(event.message);
  if (event.type === 'load' || event.type === 'download')
    showStatus(`${event.type} ${Math.round((100 * event.bytes) / event.totalBytes)} %`);
  if (event.type === 'warmup') showStatus(`compiling ${event.done} of ${event.total} kernels`);
}

/** @param {string} text */
function showStatus(text) {
  element('status', HTMLElement).textContent = text;
}

/** @param {unknown} error */
function showError(error) {
  const { name, code = 'error', message } = /** @type {Error & { code?: string }} */ (error);
  if (name !== 'AbortError') showStatus(`${code}: ${message}`);
}
