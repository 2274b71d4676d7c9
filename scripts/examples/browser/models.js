// Where the models of the page come from: a hub id, a folder that the user picks, or files of this page's own server, read by ranges.

/** @typedef {import('svc-engine/browser').ModelFiles} ModelFiles */

/** What a user typed: a model that the server offers, or a hub id. @param {string} name @returns {Promise<string | ModelFiles>} */
export async function modelNamed(name) {
  const response = await fetch(`models/${name}/`);
  if (!response.ok) return name;
  /** @type {{ name: string, size: number }[]} */
  const files = await response.json();
  return files.map(({ name: path, size }) => ({
    name: path,
    size,
    read: rangesOf(`models/${name}/${path}`),
  }));
}

/** Reads bytes of a file on the server. @param {string} url @returns {(offset: number, length: number) => Promise<Uint8Array>} */
function rangesOf(url) {
  return async (offset, length) => {
    if (length === 0) return new Uint8Array();
    const response = await fetch(url, { headers: { range: `bytes=${offset}-${offset + length - 1}` } });
    if (response.status !== 206) throw new Error(`${url} answers ${response.status} to a range`);
    return new Uint8Array(await response.arrayBuffer());
  };
}

/**
 * Lets the user pick a folder: a handle where the browser has the File System Access API, the File objects elsewhere.
 * @returns {Promise<{ name: string, files: ModelFiles }>}
 */
export async function pickFolder() {
  const page =
    /** @type {{ showDirectoryPicker?: (options: object) => Promise<FileSystemDirectoryHandle> }} */ (
      /** @type {unknown} */ (globalThis)
    );
  if (page.showDirectoryPicker) {
    const handle = await page.showDirectoryPicker({ id: 'model' });
    return { name: handle.name, files: handle };
  }
  const input = Object.assign(document.createElement('input'), { type: 'file', webkitdirectory: true });
  return new Promise((resolve, reject) => {
    input.addEventListener('change', () => {
      const files = [...(input.files ?? [])];
      resolve({ name: files[0]?.webkitRelativePath.split('/')[0] ?? '', files });
    });
    input.addEventListener('cancel', () => reject(new DOMException('no folder was picked', 'AbortError')));
    input.click();
  });
}
