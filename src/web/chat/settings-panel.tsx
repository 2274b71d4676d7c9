// The form of a conversation's settings.

import { textModels } from '../api/models.ts';
import {
  boundsOf,
  type Field,
  FIELDS,
  problemOf,
  REASONING_CHOICES,
  schemaProblem,
  shown,
  type SettingValues,
} from './settings.ts';
import { current } from './state.ts';
import { change, draft, modelsOf } from './talk.ts';

export function SettingsPanel({ onClose }: { onClose(): void }) {
  const { settings, models } = current.value ?? draft.value;
  const set = (values: Partial<SettingValues>) => change({ settings: { ...settings, ...values } });
  const [model] = modelsOf(models);
  const defaults = textModels.value.find(({ id }) => id === model)?.sampling_defaults ?? {};
  const { fields = {}, schema = '' } = settings;
  const wrong = schemaProblem(schema);
  return (
    <form
      autocomplete="off"
      class="settings"
      aria-label="Settings of this conversation"
      onSubmit={(event) => event.preventDefault()}
    >
      <div class="actions">
        <h2>Settings</h2>
        <span class="space" />
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
      <div class="field">
        <label for="field-system">System prompt</label>
        <textarea
          id="field-system"
          rows={3}
          value={settings.system ?? ''}
          onInput={({ currentTarget }) => set({ system: currentTarget.value })}
        />
      </div>
      <div class="field">
        <label for="field-reasoning">Reasoning</label>
        <select
          id="field-reasoning"
          value={settings.reasoning ?? ''}
          onChange={({ currentTarget: { value } }) => {
            const { reasoning: _, ...others } = settings;
            change({ settings: value === '' ? others : { ...others, reasoning: value } });
          }}
        >
          <option value="">as the model does</option>
          {REASONING_CHOICES.map((one) => (
            <option key={one} value={one}>
              {one === 'none' ? 'off' : one}
            </option>
          ))}
        </select>
      </div>
      <div class="field">
        <label for="field-schema">JSON Schema</label>
        <textarea
          id="field-schema"
          class="source"
          rows={4}
          spellcheck={false}
          placeholder="Replies are JSON of this schema; empty: any text"
          value={schema}
          aria-invalid={wrong !== ''}
          onInput={({ currentTarget }) => set({ schema: currentTarget.value })}
        />
        {wrong && <span class="problem">{wrong}</span>}
      </div>
      {FIELDS.map((field) => (
        <SamplingField
          key={field.name}
          field={field}
          value={fields[field.name] ?? ''}
          fallback={shown(defaults[field.name]?.value) || field.fallback}
          onInput={(value) => set({ fields: { ...fields, [field.name]: value } })}
        />
      ))}
    </form>
  );
}

interface SamplingFieldProps {
  field: Field;
  value: string;
  /** The model's own value. */
  fallback: string;
  onInput(value: string): void;
}

function SamplingField({ field, value, fallback, onInput }: SamplingFieldProps) {
  const { name, kind, help } = field;
  const problem = problemOf(field, value);
  const common = { 'aria-invalid': problem !== '', 'aria-describedby': `help-${name}`, value };
  const bounds = boundsOf(kind);
  const note = bounds ? `${help} (${bounds})` : help;
  return (
    <div class="field">
      <label for={`field-${name}`}>{name}</label>
      {kind.type === 'boolean' ? (
        <select
          id={`field-${name}`}
          {...common}
          onChange={({ currentTarget }) => onInput(currentTarget.value)}
        >
          <option value="">{`default (${fallback})`}</option>
          <option>true</option>
          <option>false</option>
        </select>
      ) : kind.type === 'list' ? (
        <textarea
          id={`field-${name}`}
          rows={2}
          {...common}
          onInput={({ currentTarget }) => onInput(currentTarget.value)}
        />
      ) : (
        <input
          id={`field-${name}`}
          inputMode="decimal"
          placeholder={fallback}
          {...common}
          onInput={({ currentTarget }) => onInput(currentTarget.value)}
        />
      )}
      <small id={`help-${name}`} class={problem ? 'problem' : 'muted'}>
        {problem || note}
      </small>
    </div>
  );
}
