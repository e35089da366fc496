/** The parts of an OpenAPI 3.1 document in use (https://spec.openapis.org/oas/v3.1.1.html). */
import type { z } from 'zod';

export type JsonSchema = z.core.JSONSchema.BaseSchema;

export interface Example {
  summary?: string;
  value: unknown;
}

export interface MediaType {
  schema: JsonSchema;
  examples?: Record<string, Example>;
}

export interface Header {
  description: string;
  required?: boolean;
  schema: JsonSchema;
}

export interface Parameter extends Header {
  name: string;
  in: 'path' | 'query' | 'header';
  example?: unknown;
}

export interface Response {
  description: string;
  headers?: Record<string, Header>;
  content?: Record<string, MediaType>;
}

export interface Reference {
  $ref: string;
}

export interface RequestBody {
  required: boolean;
  content: Record<string, MediaType>;
}

/** One of the objects must be satisfied; an empty object always is. */
export type Security = Record<string, string[]>[];

export interface Operation {
  operationId: string;
  summary: string;
  description: string;
  tags: string[];
  security: Security;
  parameters?: Parameter[];
  requestBody?: RequestBody;
  responses: Record<string, Response | Reference>;
}

export type PathItem = Partial<Record<'get' | 'post' | 'put' | 'patch' | 'delete', Operation>>;

export interface OpenApiDocument {
  openapi: string;
  info: {
    title: string;
    version: string;
    description: string;
    contact: { name: string };
    license: { name: string; identifier: string };
  };
  servers: { url: string; description: string }[];
  tags: { name: string; description: string }[];
  paths: Record<string, PathItem>;
  'x-fallback-responses': Record<string, Response>;
  /** Apart from `paths`, where operations must have a success status other than 101. */
  'x-websockets': Record<string, PathItem>;
  components: {
    securitySchemes: Record<string, object>;
    schemas: Record<string, JsonSchema>;
    responses: Record<string, Response>;
  };
}
