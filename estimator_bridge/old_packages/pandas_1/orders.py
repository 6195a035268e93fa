"""The order of the parameters of pandas 1.1, where today's pandas wants some of them by name."""

__all__ = ["ORDERS"]

# Classes, method and parameters. A line that begins with a space continues the one before.
ORDERS = """\
Categorical.add_categories: new_categories inplace
DataFrame Series.align: other join axis level copy fill_value method limit fill_axis
  broadcast_axis
DataFrame Series.all: axis bool_only skipna level
DataFrame Series.any: axis bool_only skipna level
Series.apply: func convert_dtype args
Categorical.as_ordered: inplace
Categorical.as_unordered: inplace
DataFrame Series.between_time: start_time end_time include_start include_end axis
DataFrame Series.bfill: axis inplace limit downcast
DataFrame Series.clip: lower upper axis inplace
pd.concat: objs axis join ignore_index keys levels names verify_integrity sort copy
DataFrame.count: axis level numeric_only
Series.count: level
pd.date_range: start end periods freq tz normalize name closed
DataFrame Series.describe: percentiles include exclude datetime_is_numeric
DataFrame Series.drop: labels axis index columns level inplace errors
Index MultiIndex.drop_duplicates: keep
Series.drop_duplicates: keep inplace
DataFrame.drop_duplicates: subset keep inplace ignore_index
DataFrame.dropna: axis how thresh subset inplace
Series.dropna: axis inplace how
DataFrame.eval: expr inplace
DataFrame Series.ewm: com span halflife alpha min_periods adjust ignore_na axis times
DataFrame Series.expanding: min_periods center axis
DataFrame Series.ffill: axis inplace limit downcast
Index MultiIndex.fillna: value downcast
DataFrame Series.fillna: value method axis inplace limit downcast
DataFrameGroupBy SeriesGroupBy Resampler.get_group: name obj
DataFrame Series.groupby: by axis level as_index sort group_keys squeeze observed dropna
DataFrame.info: verbose buf max_cols memory_usage null_counts
DataFrame Series Resampler.interpolate: method axis limit inplace limit_direction limit_area
  downcast
Index MultiIndex.join: other how level return_indexers sort
DataFrame Series.kurt: axis skipna level numeric_only
DataFrame Series.kurtosis: axis skipna level numeric_only
pd.lreshape: data groups dropna label
Series.map: arg na_action
DataFrame Series.mask: cond other inplace axis level errors try_cast
DataFrame Series.max: axis skipna level numeric_only
Categorical.max: skipna
DataFrame Series.mean: axis skipna level numeric_only
DataFrame Series.median: axis skipna level numeric_only
DataFrame Series.min: axis skipna level numeric_only
Categorical.min: skipna
ExcelFile.parse: sheet_name header names index_col usecols squeeze converters true_values
  false_values skiprows nrows na_values parse_dates date_parser thousands comment skipfooter
  convert_float mangle_dupe_cols
DataFrame Series SeriesGroupBy.pct_change: periods fill_method limit freq
DataFrameGroupBy.pct_change: periods fill_method limit freq axis
pd.pivot: data index columns values
DataFrame.pivot: index columns values
DataFrame Series.prod: axis skipna level numeric_only min_count
DataFrame Series.product: axis skipna level numeric_only min_count
Rolling Expanding.quantile: quantile interpolation
DataFrame.query: expr inplace
DataFrameGroupBy SeriesGroupBy.rank: method ascending na_option pct axis
pd.read_csv: filepath_or_buffer sep delimiter header names index_col usecols squeeze prefix
  mangle_dupe_cols dtype engine converters true_values false_values skipinitialspace skiprows
  skipfooter nrows na_values keep_default_na na_filter verbose skip_blank_lines parse_dates
  infer_datetime_format keep_date_col date_parser dayfirst cache_dates iterator chunksize
  compression thousands decimal lineterminator quotechar quoting doublequote escapechar comment
  encoding dialect error_bad_lines warn_bad_lines delim_whitespace low_memory memory_map
  float_precision
pd.read_excel: io sheet_name header names index_col usecols squeeze dtype engine converters
  true_values false_values skiprows nrows na_values keep_default_na na_filter verbose parse_dates
  date_parser thousands comment skipfooter convert_float mangle_dupe_cols
pd.read_fwf: filepath_or_buffer colspecs widths infer_nrows
pd.read_html: io match flavor header index_col skiprows attrs parse_dates thousands encoding
  decimal converters na_values keep_default_na displayed_only
pd.read_json: path_or_buf orient typ dtype convert_axes convert_dates keep_default_dates numpy
  precise_float date_unit encoding lines chunksize compression nrows
pd.read_sas: filepath_or_buffer format index encoding chunksize iterator
pd.read_stata: filepath_or_buffer convert_dates convert_categoricals index_col convert_missing
  preserve_dtypes columns order_categoricals chunksize iterator
pd.read_table: filepath_or_buffer sep delimiter header names index_col usecols squeeze prefix
  mangle_dupe_cols dtype engine converters true_values false_values skipinitialspace skiprows
  skipfooter nrows na_values keep_default_na na_filter verbose skip_blank_lines parse_dates
  infer_datetime_format keep_date_col date_parser dayfirst cache_dates iterator chunksize
  compression thousands decimal lineterminator quotechar quoting doublequote escapechar comment
  encoding dialect error_bad_lines warn_bad_lines delim_whitespace low_memory memory_map
  float_precision
Categorical.remove_categories: removals inplace
Categorical.remove_unused_categories: inplace
Index.rename: name inplace
MultiIndex.rename: names level inplace
DataFrame Series.rename_axis: mapper axis copy inplace
Categorical.rename_categories: new_categories inplace
Categorical.reorder_categories: new_categories ordered inplace
DataFrame Series.replace: to_replace value inplace limit regex method
DataFrame Series.resample: rule axis closed label convention kind loffset base on level origin
  offset
DataFrame.reset_index: level drop inplace col_level col_fill
Series.reset_index: level drop name inplace
DataFrame Series.rolling: window min_periods center win_type on axis closed
str.rsplit: pat n expand
DataFrame Series.sem: axis skipna level ddof numeric_only
DataFrame Series.set_axis: labels axis inplace
Categorical.set_categories: new_categories ordered rename inplace
MultiIndex.set_codes: codes level inplace verify_integrity
DataFrame.set_index: keys drop append inplace verify_integrity
MultiIndex.set_levels: levels level inplace verify_integrity
Index MultiIndex.set_names: names level inplace
Categorical.set_ordered: value inplace
DataFrameGroupBy SeriesGroupBy.shift: periods freq axis fill_value
DataFrame Series.skew: axis skipna level numeric_only
DataFrame Series.sort_index: axis level ascending inplace kind na_position sort_remaining
  ignore_index key
Series.sort_values: axis ascending inplace kind na_position ignore_index key
DataFrame.sort_values: by axis ascending inplace kind na_position ignore_index key
Categorical.sort_values: inplace ascending na_position
Index MultiIndex.sort_values: return_indexer ascending key
str.split: pat n expand
DataFrame Series.std: axis skipna level ddof numeric_only
DataFrame Series.sum: axis skipna level numeric_only min_count
DataFrame Series.take: indices axis is_copy
DataFrame Series.to_clipboard: excel sep
DataFrame Series.to_csv: path_or_buf sep na_rep float_format columns header index index_label mode
  encoding compression quoting quotechar line_terminator chunksize date_format doublequote
  escapechar decimal errors
pd.to_datetime: arg errors dayfirst yearfirst utc format exact unit infer_datetime_format origin
  cache
Series.to_dict: into
DataFrame.to_dict: orient into
DataFrame Series.to_excel: excel_writer sheet_name na_rep float_format columns header index
  index_label startrow startcol engine merge_cells encoding inf_rep verbose freeze_panes
DataFrame Series.to_hdf: path_or_buf key mode complevel complib append format index min_itemsize
  nan_rep dropna data_columns errors encoding
DataFrame.to_html: buf columns col_space header index na_rep formatters float_format sparsify
  index_names justify max_rows max_cols show_dimensions decimal bold_rows classes escape notebook
  border table_id render_links encoding
DataFrame Series.to_json: path_or_buf orient date_format double_precision force_ascii date_unit
  default_handler lines compression index indent
DataFrame Series.to_latex: buf columns col_space header index na_rep formatters float_format
  sparsify index_names bold_rows column_format longtable escape encoding decimal multicolumn
  multicolumn_format multirow caption label
DataFrame Series.to_markdown: buf mode index
DataFrame.to_parquet: path engine compression index partition_cols
DataFrame Series.to_pickle: path compression protocol
DataFrame Series.to_sql: name con schema if_exists index index_label chunksize dtype method
DataFrame.to_stata: path convert_dates write_index byteorder time_stamp data_label variable_labels
  version convert_strl compression
DataFrame.to_string: buf columns col_space header index na_rep formatters float_format sparsify
  index_names justify max_rows min_rows max_cols show_dimensions decimal line_width max_colwidth
  encoding
Series.to_string: buf na_rep float_format header index length dtype name max_rows min_rows
DataFrame Series.var: axis skipna level ddof numeric_only
DataFrame Series.where: cond other inplace axis level errors try_cast
"""
