// The form of a request for images or videos.

import { useState } from 'preact/hooks';
import { callJson } from '../api/call.ts';
import { imageModels, refreshModels } from '../api/models.ts';
import { refreshServerInfo } from '../api/server-info.ts';
import { drawingNote, drawingProblem } from './drawings.ts';
import {
  change,
  chosenModel,
  form,
  IMAGE_FORMATS,
  modelFields,
  submit,
  VIDEO_FORMATS,
} from './form-state.ts';
import { faultOf, SettingField } from './setting-field.tsx';
import { SourceFields } from './source-field.tsx';

export function ImageForm() {
  const fields = modelFields.value;
  const problem = drawingProblem.value;
  return (
    <form
      class="image-form"
      autocomplete="off" // the page keeps what its forms hold; what a browser restores would come over it
      aria-label="What to draw"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <ModelField />
      <OpenModel />
      <label>
        Prompt
        <textarea
          rows={3}
          value={form.value.prompt}
          {...faultOf('prompt')}
          onInput={({ currentTarget }) => change({ prompt: currentTarget.value })}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
            event.preventDefault();
            event.currentTarget.form!.requestSubmit();
          }}
        />
      </label>
      {fields && (
        <>
          <div class="fields">
            {[...fields.main, ...fields.lora].map((field) => (
              <SettingField key={field.name} field={field} />
            ))}
            <SeedField />
            <FormatField
              formats={fields.drawsClips ? VIDEO_FORMATS : IMAGE_FORMATS}
              isClip={fields.drawsClips}
            />
          </div>
          <SourceFields />
          <details>
            <summary>More settings</summary>
            <div class="fields">
              {fields.more.map((field) => (
                <SettingField key={field.name} field={field} />
              ))}
            </div>
          </details>
        </>
      )}
      {problem && (
        <p id="image-problem" role="alert" class="problem">
          {problem.message}
        </p>
      )}
      {drawingNote.value && (
        <p role="status" class="muted">
          {drawingNote.value}
        </p>
      )}
      <button type="submit" class="first" disabled={!fields}>
        Draw
      </button>
    </form>
  );
}

function ModelField() {
  const models = imageModels.value;
  return (
    <label>
      Model
      <select
        value={chosenModel.value?.id ?? ''}
        {...faultOf('model')}
        onChange={({ currentTarget }) => change({ model: currentTarget.value })}
      >
        {models.map(({ id, status }) => (
          <option key={id} value={id}>
            {status && status.value !== 'loaded' ? `${id} (${status.value})` : id}
          </option>
        ))}
      </select>
    </label>
  );
}

/** A model that is not open tells neither its defaults nor whether it starts from images. */
function OpenModel() {
  const [isOpening, setIsOpening] = useState(false);
  const model = chosenModel.value;
  const status = model?.status?.value;
  if (!model || (status !== 'unloaded' && status !== 'loading')) return null;
  const open = async (): Promise<void> => {
    setIsOpening(true);
    drawingProblem.value = null;
    try {
      await callJson('models/load', { model: model.id });
    } catch (error) {
      drawingProblem.value = { message: (error as Error).message, param: 'model' };
    }
    await Promise.all([refreshModels(), refreshServerInfo()]);
    setIsOpening(false);
  };
  return (
    <p class="muted">
      This model is not open; its own settings are shown once it is.{' '}
      <button type="button" disabled={isOpening} onClick={() => void open()}>
        Open it
      </button>
    </p>
  );
}

function SeedField() {
  return (
    <label>
      Seed
      <input
        type="number"
        min={0}
        step={1}
        placeholder="random"
        title="The same seed draws the same image. Left empty, each request gets a random one, which the gallery keeps."
        value={form.value.seed}
        {...faultOf('seed')}
        onInput={({ currentTarget }) => change({ seed: currentTarget.value })}
      />
    </label>
  );
}

function FormatField({ formats, isClip }: { formats: readonly string[]; isClip: boolean }) {
  const name = isClip ? 'videoFormat' : 'imageFormat';
  return (
    <label>
      Format
      <select
        value={form.value[name]}
        {...faultOf('output_format')}
        onChange={({ currentTarget }) => change({ [name]: currentTarget.value })}
      >
        {formats.map((format) => (
          <option key={format}>{format}</option>
        ))}
      </select>
    </label>
  );
}
