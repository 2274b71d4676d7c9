// Where the models of the page come from: a hub id, a folder that the user picks, or files of this page's own server, read by ranges.

/** What a user typed: a model that the server offers, or a hub id. */
export async function modelNamed(name) {
  const response = await fetch(`models/${name}/`);
  if (!response.ok) return name;
  const files = await response.json();
  return files.map(({ name: path, size }) => ({
    name: path,
    size,
    read: rangesOf(`models/${name}/${path}`),
  }));
}

/** Reads bytes of a file on the server. */
function rangesOf(url) {
  return async (offset, length) => {
    if (length === 0) return new Uint8Array();
    const response = await fetch(url, { headers: { range: `bytes=${offset}-${offset + length - 1}` } });
    if (response.status !== 206) throw new Error(`${url} answers ${response.status} to a range`);
    return new Uint8Array(await response.arrayBuffer());
  };
}

/** Lets the user pick a folder: a handle where the browser has the File System Access API, the File objects elsewhere. */
export async function pickFolder() {
  if ('showDirectoryPicker' in globalThis) return globalThis.showDirectoryPicker({ id: 'model' });
  const input = Object.assign(document.createElement('input'), { type: 'file', webkitdirectory: true });
  const { promise, resolve, reject } = Promise.withResolvers();
  input.addEventListener('change', () => resolve([...input.files]));
  input.addEventListener('cancel', () => reject(new DOMException('no folder was picked', 'AbortError')));
  input.click();
  return promise;
}
