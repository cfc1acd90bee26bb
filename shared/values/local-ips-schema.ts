import { isIP } from 'node:net';
import * as z from 'zod';
import { canonicalIp } from './ip-address.ts';

/** Addresses of this machine, to compare with those of connections. */
export const localIpsSchema = z
  .array(
    z
      .string()
      .refine((text) => isIP(text) !== 0, 'it must be an IP address')
      .transform(canonicalIp),
  )
  .min(1)
  .max(1_000);
