// SPDX-License-Identifier: Apache-2.0
// All that a program which writes or reads datasets includes. Each header stands by itself, too.
#pragma once

#include <dovetail/batch.h>
#include <dovetail/batch_reader.h>
#include <dovetail/bytes.h>
#include <dovetail/columns.h>
#include <dovetail/convert.h>
#include <dovetail/dataset.h>
#include <dovetail/dataset_writer.h>
#include <dovetail/device_batch.h>
#include <dovetail/device_reader.h>
#include <dovetail/device_stream.h>
#include <dovetail/dlpack.h>
#include <dovetail/error.h>
#include <dovetail/gathered.h>
#include <dovetail/identity.h>
#include <dovetail/mixing.h>
#include <dovetail/order.h>
#include <dovetail/plan.h>
#include <dovetail/rank_context.h>
#include <dovetail/reader_options.h>
#include <dovetail/reader_stats.h>
#include <dovetail/record_reader.h>
#include <dovetail/record_source.h>
#include <dovetail/record_writer.h>
#include <dovetail/recover.h>
#include <dovetail/schema.h>
#include <dovetail/shard_info.h>
#include <dovetail/shard_line.h>
#include <dovetail/slot_memory.h>
#include <dovetail/source_options.h>
#include <dovetail/state.h>
#include <dovetail/storage_kind.h>
#include <dovetail/tfrecord_export.h>
#include <dovetail/tfrecord_index.h>
#include <dovetail/timeline.h>
