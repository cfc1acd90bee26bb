import type { Parsed } from '../../../shared/values/parsed.ts';
import { ApiError } from '../http/errors.ts';

/** The domain or host that a request names, once it is parsed. @throws ApiError if it is not valid. */
export function requireDomain<T>(parsed: Parsed<T>): T {
  if (!parsed.ok) throw new ApiError('invalidDomain', parsed.reason);
  return parsed.value;
}
