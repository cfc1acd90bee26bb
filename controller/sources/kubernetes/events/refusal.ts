import type { Resource } from '../api/resource.ts';
import type { Meta } from '../objects/meta.ts';

/** Why something that an object requests is not done. */
export type Refusal = {
  readonly resource: Resource<unknown>;
  readonly meta: Meta;
  /** CamelCase, such as `NoBackend`. */
  readonly reason: string;
  readonly message: string;
};
