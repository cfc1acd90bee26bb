import { fieldIn } from '../codec/http1/fields.ts';
import type { Exchange } from './exchange.ts';

/** Whether it is a call of gRPC: it has a deadline of its own, and either side says nothing for as long as nothing happens. */
export const isGrpc = (x: Exchange): boolean => /^application\/grpc\b/i.test(fieldIn(x.fields, 'content-type') ?? '');
